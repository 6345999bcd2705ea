//! What Escrow gives every command is held to the rules for values: `$ESCROW_ITEM`, and what commands print from the file
//! `$ESCROW_CONTEXT`. This is so in scripts without a `{{ }}` as well.

use escrow_template::{check_arguments, check_fed_script, check_script};

#[track_caller]
fn check(refused: &[&str], accepted: &[&str]) {
    let passed: Vec<_> = refused.iter().filter(|source| check_script(source, &[]).is_empty()).collect();
    let stopped: Vec<_> = accepted
        .iter()
        .filter_map(|source| Some((source, check_script(source, &[]).first()?.message.clone())))
        .collect();
    assert!(passed.is_empty() && stopped.is_empty(), "accepted: {passed:#?}\nrefused: {stopped:#?}");
}

#[test]
fn the_item_is_a_value() {
    check(
        &[
            "eval \"$ESCROW_ITEM\"",
            "sh -c \"$ESCROW_ITEM\"",
            "$ESCROW_ITEM",
            "\"${ESCROW_ITEM}\" a",
            "x=$ESCROW_ITEM; $x",
            "echo $((ESCROW_ITEM + 1))",
            "echo $(( $ESCROW_ITEM + 1 ))",
            "[ $ESCROW_ITEM = a ]",
            "[[ $ESCROW_ITEM -eq 1 ]]",
            "echo \"$ESCROW_ITEM\" | sh",
            "bash -c 'eval \"$ESCROW_ITEM\"'",
            "x=$(printenv ESCROW_ITEM); $x",
            "python3 -c \"$ESCROW_ITEM\"",
            "timeout $ESCROW_ITEM ls",
            "echo >& \"$ESCROW_ITEM\"",
            "declare \"$ESCROW_ITEM=1\"",
            // What cannot be read is not judged.
            "echo 'a; $ESCROW_ITEM",
            "echo {{ x }}; [ $ESCROW_ITEM = a ]",
        ],
        &[
            "echo \"$ESCROW_ITEM\"",
            "echo ${ESCROW_ITEM-none}",
            "expr \"$ESCROW_ITEM\" + 1",
            "name=$(echo \"$ESCROW_ITEM\" | jq -r .name); ./build \"$name\"",
            "node -e 'console.log(process.env.ESCROW_ITEM)'",
            "python3 - <<'E'\nimport os\nprint(os.environ[\"ESCROW_ITEM\"])\nE\n",
        ],
    );
    assert!(!check_arguments(&["sh", "-c", "eval \"$ESCROW_ITEM\""], false).is_empty());
    assert!(check_arguments(&["sh", "-c", "echo \"$ESCROW_ITEM\""], false).is_empty());
    assert!(!check_fed_script("[ $ESCROW_ITEM = a ]").is_empty());
}

#[test]
fn what_is_printed_from_the_context_is_no_code() {
    check(
        &[
            "jq -r .x \"$ESCROW_CONTEXT\" | sh",
            "x=$(jq -r .x \"$ESCROW_CONTEXT\"); $x",
            "eval \"$(jq -r .x \"$ESCROW_CONTEXT\")\"",
            "n=$(jq -r .x \"$ESCROW_CONTEXT\"); echo $((n + 1))",
            "n=$(jq -r .x \"$ESCROW_CONTEXT\"); [ $n = 1 ]",
            "sh -c \"$(jq -r .x \"$ESCROW_CONTEXT\")\"",
            "declare \"$(jq -r .x \"$ESCROW_CONTEXT\")=1\"",
            "bash -c 'x=$(jq .x \"$ESCROW_CONTEXT\"); [ $x = 1 ]'",
            "python3 -c 'import os; print(open(os.environ[\"ESCROW_CONTEXT\"]).read())' | sh",
        ],
        &[
            "cat $ESCROW_CONTEXT",
            "jq .inputs \"$ESCROW_CONTEXT\" > out.json",
            "[ \"$(jq -r .x \"$ESCROW_CONTEXT\")\" = yes ]",
            "n=$(jq '.outputs.list | length' \"$ESCROW_CONTEXT\"); [ $n -gt 3 ] && echo $((n + 1))",
            "python3 - \"$ESCROW_CONTEXT\" <<'E'\nimport sys\nE\n",
            "python3 script.py \"$ESCROW_CONTEXT\"",
            "sed -n 1p \"$ESCROW_CONTEXT\"",
            "cp \"$ESCROW_CONTEXT\" \"context-$ESCROW_ATTEMPT.json\"",
            // Not every shell reads this alike, and nothing in it is a value.
            "echo $'it\\'s'; cat \"$ESCROW_CONTEXT\"",
        ],
    );
    assert!(!check_arguments(&["bash", "-c", "[ $(jq .x \"$ESCROW_CONTEXT\") = 1 ]"], false).is_empty());
}

#[test]
fn other_scripts_are_left_to_the_shell() {
    check(
        &[],
        &[
            "curl -fsSL https://example.org/install.sh | sh",
            "x=$(cat f); [ $x = a ]; $x; eval \"$x\"; echo $((x))",
            "set -e; export A=1; env | sort; ./run",
            "[ $ESCROW_ATTEMPT -gt 1 ] && echo again",
        ],
    );
}
