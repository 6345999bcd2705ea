"""Outcomes into lionagi's StateDB, a transaction each, and the latest hundred of a kind out of 100,000 rows."""
import asyncio
import json
import os
import sqlite3
import statistics
import tempfile
import time
import uuid

from lionagi.state.db import StateDB
from measure import tell

INSERTS, ROWS, REPEATS = 1_000, 100_000, 5
KINDS = ("review_verdict", "gate_verdict", "ci_result")


def content(i):
    finding = {"severity": "high", "category": "correctness", "file": "src/main.rs", "line": 42,
               "description": "off-by-one", "suggestion": "use n+1"}
    return {"outcome_kind": KINDS[i % 3], "summary": f"round {i}", "passed": bool(i % 2),
            "verdict": "REQUEST_CHANGES", "round": 1, "findings": [finding] * 3}


async def main():
    path = os.path.join(tempfile.mkdtemp(prefix="lionagi-bench-"), "state.db")
    db = StateDB(path)
    await db.open()
    progression = uuid.uuid4().hex
    await db.create_progression(progression, [])
    now = time.time()
    await db.create_session({"id": "s", "created_at": now, "progression_id": progression, "status": "running",
                             "started_at": now, "invocation_kind": "agent"})
    wall, processor = [], []
    for turn in range(REPEATS):
        start, used = time.perf_counter(), time.process_time()
        for i in range(INSERTS):
            await db.insert_artifact(kind=KINDS[i % 3], name=f"r{turn}-{i}", content=content(i), session_id="s")
        wall.append(INSERTS / (time.perf_counter() - start))
        processor.append(INSERTS / (time.process_time() - used))
    tell("insert_artifact_new_rows", {"unit": "rows", "n": INSERTS, "wall_per_s_median": round(statistics.median(wall)),
                                      "cpu_per_s_median": round(statistics.median(processor))})
    await db.close()
    # Filled up to 100,000 rows beside the API; this is not measured.
    connection = sqlite3.connect(path)
    connection.execute("pragma foreign_keys=off")
    have = connection.execute("select count(*) from artifacts").fetchone()[0]
    connection.executemany(
        "insert into artifacts(id,session_id,created_at,updated_at,kind,name,content) values(?,?,?,?,?,?,?)",
        ((f"seed{i}", "s", now - i, now - i, KINDS[i % 3], f"seed-{i}", json.dumps(content(i)))
         for i in range(ROWS - have)))
    connection.commit()
    connection.close()
    db = StateDB(path)
    await db.open()
    times = []
    for _ in range(15):
        start = time.perf_counter()
        # There is no API for it.
        rows = await db.fetch_all("SELECT * FROM artifacts WHERE kind = ? ORDER BY created_at DESC LIMIT 100",
                                  ("review_verdict",))
        times.append((time.perf_counter() - start) * 1e3)
    tell("list_by_kind_latest_100_of_100k", {"unit": "ms", "rows": len(rows), "median_ms": statistics.median(times),
                                             "min_ms": min(times)})
    await db.close()

asyncio.run(main())
