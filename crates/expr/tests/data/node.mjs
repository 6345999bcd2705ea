// Answers lines {"expr", "context"} as Node does, one line each. Run as: node node.mjs < questions > answers
import fs from 'fs';
import vm from 'vm';
const sandbox = vm.createContext({});
const run = vm.runInContext(
  `(code, context) => {
    const given = JSON.parse(context);
    for (const key in given) globalThis[key] = given[key];
    try {
      const value = (0, eval)('(' + code + '\\n)');
      let text;
      try { text = JSON.stringify(value) } catch (error) { return { throw: String(error && error.name) } }
      // Half a surrogate pair is the replacement character here; docs/expressions.md says so.
      if (text !== undefined) text = text.replace(/\\\\ud[89a-f][0-9a-f]{2}/gi, '\\\\ufffd');
      return text === undefined ? { u: true, t: !!value } : { v: text, t: !!value };
    } catch (error) { return { throw: String(error && error.name) } }
  }`,
  sandbox,
);
const out = [];
for (const line of fs.readFileSync(0, 'utf8').split('\n')) {
  if (!line) continue;
  const { expr, context } = JSON.parse(line);
  out.push(JSON.stringify(run(expr, JSON.stringify(context))));
}
process.stdout.write(out.join('\n') + '\n');
