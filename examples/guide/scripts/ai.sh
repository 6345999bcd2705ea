# Stands in for a model: prints a typical response to a task.
#   ai.sh TASK [TEXT]
set -eu
case $1 in
  summarize)
    lines=$(cat scripts/*.sh | wc -l)
    printf '{"summary": "%d lines of shell", "errors": []}\n' "$lines" ;;
  stumble) echo '{"summary": "", "errors": ["the context window is full"]}' ;;
  facts) echo '[{"id": 1, "claim": "scripts/ai.sh exists"}, {"id": 2, "claim": "scripts/missing.sh exists"}]' ;;
  validate)
    if [ -e "${2%% *}" ]; then echo '{"is_valid": true}'; else echo '{"is_valid": false}'; fi ;;
  assist) echo '{"intent": "issue_triage", "text": "One of the claims does not hold."}' ;;
  retrigger) echo '{"intent": "comment_retrigger", "text": "I will look at it again."}' ;;
  overview) printf '{"text": "%d scripts"}\n' "$(ls scripts | wc -l)" ;;
  *) echo "no such task: $1" >&2; exit 2 ;;
esac
