"""How often lionagi verifies an artifact contract of five files in a second. Its verifier looks at existence and size;
ours (crates/runtime/examples/verify_cost.rs) also opens each file beneath the directory and hashes it."""
import json
import os
import statistics
import tempfile
import time

from lionagi.state.artifact_verifier import verify_artifact_contract

TIMES, ROUNDS = 2000, 5

directory = tempfile.mkdtemp(prefix="lionagi-verify-")
for number in range(5):
    with open(os.path.join(directory, f"f{number}.md"), "w") as file:
        file.write("x" * 1200)


def expected(path, required=True):
    return {"id": path.replace(".", "-"), "path": path, "required": required, "description": "", "source": "playbook"}


everything = {"expected": [expected(f"f{number}.md") for number in range(5)]}
something = {"expected": everything["expected"][:3] + [expected("m1.md"), expected("m2.md", False)]}
for name, contract, status in [
    ("verify_5_present", everything, "passed"),
    ("verify_3_present_2_missing", something, "failed"),
]:
    assert verify_artifact_contract(contract, artifacts_root=directory)["status"] == status
    wall, cpu = [], []
    for _ in range(ROUNDS):
        began, processor = time.perf_counter(), time.process_time()
        for _ in range(TIMES):
            verify_artifact_contract(contract, artifacts_root=directory)
        wall.append(TIMES / (time.perf_counter() - began))
        cpu.append(TIMES / (time.process_time() - processor))
    print(json.dumps({"bench": name, "wall_per_s_median": round(statistics.median(wall)),
                      "cpu_per_s_median": round(statistics.median(cpu))}))
