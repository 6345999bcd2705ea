// Runs Escrow's hook command for the events of a session. Escrow writes this file; do not edit it.
import { spawnSync } from "node:child_process";

const hook = "HOOK";
const installed = new Set("EVENTS");
const contexts = new Map();

function run(event, payload) {
  if (!installed.has(event)) return {};
  const result = spawnSync(hook[0], [...hook.slice(1), "--event", event], {
    input: JSON.stringify(payload),
    encoding: "utf8",
  });
  try {
    return JSON.parse(result.stdout || "{}");
  } catch {
    return {};
  }
}

export const EscrowHooks = async () => ({
  event: async ({ event }) => {
    run(`event:${event.type}`, event.properties ?? {});
  },
  "chat.message": async (input, output) => {
    const answer = run("chat.message", { input, output });
    if (answer.context) contexts.set(input.sessionID, answer.context);
  },
  "experimental.chat.system.transform": async (input, output) => {
    const context = contexts.get(input.sessionID);
    if (context) output.system.push(context);
  },
  "experimental.session.compacting": async (input, output) => {
    run("experimental.session.compacting", { input, output });
  },
  "tool.execute.before": async (input, output) => {
    const answer = run("tool.execute.before", { input, output });
    if (answer.deny) throw new Error(answer.deny);
  },
  "tool.execute.after": async (input, output) => {
    run("tool.execute.after", { input, output });
  },
  dispose: async () => {
    run("dispose", {});
  },
});
// The end of Escrow's plugin.
