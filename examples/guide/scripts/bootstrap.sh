# Looks for the tools that the analysis needs, and tells later checks that they exist.
set -eu
for tool in awk wc; do command -v "$tool" > /dev/null; done
echo 'TOOLING_READY=true' >> "$ESCROW_ENV"
