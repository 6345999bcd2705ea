"""How often an artifact contract of five files is verified. Theirs looks at existence and size; ours also opens each
file beneath the directory and hashes it."""
import os
import tempfile

from lionagi.state.artifact_verifier import verify_artifact_contract
from measure import rate

flat = tempfile.mkdtemp(prefix="lionagi-verify-")
# As deep as artifacts really lie: what resolves names step by step pays for every step.
deep = os.path.join(tempfile.mkdtemp(prefix="lionagi-verify-user-"), "project/.escrow/artifacts/r_1")
for directory in (flat, deep):
    os.makedirs(directory, exist_ok=True)
    for number in range(5):
        with open(os.path.join(directory, f"f{number}.md"), "w") as file:
            file.write("x" * 1200)


def expected(path, required=True):
    return {"id": path.replace(".", "-"), "path": path, "required": required, "description": "", "source": "playbook"}


everything = {"expected": [expected(f"f{number}.md") for number in range(5)]}
something = {"expected": everything["expected"][:3] + [expected("m1.md"), expected("m2.md", False)]}
for name, directory, contract, status in [
    ("verify_5_present", flat, everything, "passed"),
    ("verify_5_present_in_a_project", deep, everything, "passed"),
    ("verify_3_present_2_missing", flat, something, "failed"),
]:
    assert verify_artifact_contract(contract, artifacts_root=directory)["status"] == status

    def verify(_, n, contract=contract, directory=directory):
        for _ in range(n):
            verify_artifact_contract(contract, artifacts_root=directory)

    rate(name, verify, 2000, "verifications")
