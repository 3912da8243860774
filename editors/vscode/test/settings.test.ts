import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type Settings,
  explainCommand,
  inWorkspace,
  isOperatorFile,
  likelyPrograms,
  nameAt,
  serverCommand,
  startFailure,
} from "../src/settings";

const DEFAULTS: Settings = { command: ["opwright"], torch: "auto", sourcePath: "", plugins: [], allowPaths: [] };

test("the defaults start the program on PATH with the installed PyTorch", () => {
  assert.deepEqual(serverCommand(DEFAULTS, "/project"), { program: "opwright", args: ["lsp", "--torch", "auto"] });
});

test("every setting has its words", () => {
  const settings = {
    command: ["${workspaceFolder}/.venv/bin/python", "-m", "opwright"],
    torch: "2.13.0",
    sourcePath: "",
    plugins: ["acme"],
    allowPaths: ["/shared/a.yaml", "${workspaceFolder}/../b"],
  };
  assert.deepEqual(serverCommand(settings, "/project"), {
    program: "/project/.venv/bin/python",
    args: [
      ...["-m", "opwright", "lsp", "--torch", "2.13.0", "--plugin", "acme"],
      ...["--allow-path", "/shared/a.yaml", "--allow-path", "/project/../b"],
    ],
  });
});

test("a source tree takes the place of a release", () => {
  const command = serverCommand({ ...DEFAULTS, sourcePath: "pytorch/aten/src/ATen" }, undefined);
  assert.deepEqual(command.args, ["lsp", "--source-path", "pytorch/aten/src/ATen"]);
});

test("codes are explained without a PyTorch, operators with it", () => {
  assert.deepEqual(explainCommand(DEFAULTS, undefined, "E0310").args, ["explain", "E0310", "--color", "never"]);
  const args = ["explain", "add.Tensor", "--torch", "auto", "--color", "never"];
  assert.deepEqual(explainCommand(DEFAULTS, undefined, "add.Tensor").args, args);
});

test("the server starts for operator files alone", () => {
  assert.ok(isOperatorFile("/p/derivatives.yaml", ""));
  assert.ok(isOperatorFile("C:\\p\\tags.yaml", ""));
  assert.ok(isOperatorFile("/p/acme.yaml", "namespace: acme\noperators:\n"));
  assert.ok(isOperatorFile("/p/npu.yaml", "backend: PrivateUse1\ncpp_namespace: npu\nsupported:\n- add.out\n"));
  assert.ok(isOperatorFile("/p/part.yaml", "- func: f(Tensor x) -> Tensor\n"));
  assert.ok(!isOperatorFile("/p/.github/workflows/test.yml", "name: test\non:\n  push:\njobs: {}\n"));
  assert.ok(!isOperatorFile("/p/deployment.yaml", "kind: Deployment\nmetadata:\n  namespace: acme\n"));
});

test("the program is looked for beside the interpreter, then in .venv", () => {
  const found = ["/env/bin/opwright", "/project/.venv/bin/opwright"];
  assert.deepEqual(likelyPrograms("/project", "/env/bin/python3", false), found);
  assert.deepEqual(likelyPrograms(undefined, "C:\\env\\Scripts\\python.exe", true), ["C:\\env\\Scripts\\opwright.exe"]);
  assert.deepEqual(likelyPrograms(undefined, undefined, false), []);
});

test("without a folder, a setting that names it stays", () => {
  assert.equal(inWorkspace("${workspaceFolder}/bin", undefined), "${workspaceFolder}/bin");
});

test("the name at the cursor has its overload, and no punctuation", () => {
  const line = "- func: add.Tensor(Tensor self) -> Tensor  # E0310: see";
  assert.equal(nameAt(line, line.indexOf("Tensor(")), "add.Tensor");
  assert.equal(nameAt(line, line.indexOf("E0310")), "E0310");
  assert.equal(nameAt("- 12 ", 3), "");
});

test("a server that does not start is named with what to do", () => {
  const text = startFailure({ program: "opwright", args: ["lsp"] }, "spawn opwright ENOENT");
  assert.match(text, /`opwright lsp`.*ENOENT.*extra `lsp`.*`opwright\.command`/);
});
