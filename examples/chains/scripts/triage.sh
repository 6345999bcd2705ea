# Prints a gate verdict: an issue whose title speaks of an outage cannot wait.
case $1 in
*outage*) echo '{"summary": "this cannot wait", "gate_passed": false, "feedback": "the title speaks of an outage"}' ;;
*) echo '{"summary": "this can wait", "gate_passed": true, "feedback": "nothing urgent in the title"}' ;;
esac
