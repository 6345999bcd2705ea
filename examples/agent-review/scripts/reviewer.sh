#!/bin/sh
# Stands in for an AI program: reads its task from stdin, reviews the patch that the last line names, and writes
# what its profile promises. For a patch that adds nothing it delivers nothing, to show how Escrow reacts.
patch=$(sed -n 's/^patch: //p' | tail -n 1)
added=$(grep -c '^+[^+]' "$patch")
if [ "$added" -eq 0 ]; then
    echo "Looks fine to me. All done."
    exit 0
fi
awk -v report="$ESCROW_ARTIFACTS/report.md" '
    /^\+\+\+ b\// { file = substr($0, 7) }
    /^@@/ { split($3, at, /[+,]/); line = at[2] - 1 }
    /^[+ ]/ && !/^\+\+\+/ { line++ }
    /^\+/ && /password|TODO/ {
        severity = /password/ ? "critical" : "low"
        blocking += severity == "critical"
        findings = findings (findings ? "," : "") sprintf("{\"severity\": \"%s\", \"category\": \"%s\", \"file\": \"%s\", \"line\": %d, \"description\": \"%s\"}",
            severity, /password/ ? "security" : "style", file, line, /password/ ? "a password in the code" : "an open TODO")
        print "- " file ":" line > report
    }
    END {
        printf "{\"verdict\": \"%s\", \"reviewer\": \"reviewer\", \"findings\": [%s]}\n", blocking ? "REQUEST_CHANGES" : "APPROVE", findings
    }' "$patch" > "$ESCROW_ARTIFACTS/verdict.json"
echo "I have written my verdict."
