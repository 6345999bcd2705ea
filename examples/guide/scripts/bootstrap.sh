# Looks for the tools that the analysis needs, and tells later checks that they are there.
set -eu
for tool in awk wc; do command -v "$tool" > /dev/null; done
echo 'TOOLING_READY=true' >> "$ESCROW_ENV"
