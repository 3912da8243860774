/** The server that the extension starts, with a client without an editor. OPWRIGHT names the program. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  CompletionRequest,
  DidOpenTextDocumentNotification,
  ExitNotification,
  HoverRequest,
  InitializeRequest,
  InitializedNotification,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  createProtocolConnection,
} from "vscode-languageserver-protocol/node";

import { serverCommand } from "../src/settings";

const TEXT = `namespace: acme
operators:
- func: twice(Tensor self, double factor) -> Tensor
  dispatch:
    CPU: twice
`;
const folder = mkdtempSync(join(tmpdir(), "opwright-"));
const uri = pathToFileURL(join(folder, "operators.yaml")).toString();
let server: ChildProcess;
let connection: ProtocolConnection;
let published: Promise<PublishDiagnosticsParams>;

before(async () => {
  const settings = { command: [process.env.OPWRIGHT ?? "opwright"], torch: "auto", sourcePath: "", plugins: [], allowPaths: [] };
  const command = serverCommand(settings, folder);
  server = spawn(command.program, command.args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  connection = createProtocolConnection(new StreamMessageReader(server.stdout!), new StreamMessageWriter(server.stdin!));
  published = new Promise((resolve) => {
    connection.onNotification(PublishDiagnosticsNotification.type, (params) => {
      if (params.diagnostics.length > 0) {
        resolve(params);
      }
    });
  });
  connection.onRequest("client/registerCapability", () => null);
  connection.listen();
  writeFileSync(join(folder, "operators.yaml"), TEXT);
  const rootUri = pathToFileURL(folder).toString();
  await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: "project" }],
    capabilities: {},
    initializationOptions: { trusted: true },
  });
  await connection.sendNotification(InitializedNotification.type, {});
  await connection.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "yaml", version: 1, text: TEXT },
  });
});

after(async () => {
  await connection.sendRequest(ShutdownRequest.type);
  await connection.sendNotification(ExitNotification.type);
  connection.dispose();
});

test("a mistake is reported at its place, with its code", async () => {
  const { diagnostics } = await published;
  const [first] = diagnostics;
  assert.equal(first?.range.start.line, 2);
  assert.equal(TEXT.split("\n")[2]?.slice(first.range.start.character, first.range.end.character), "double");
  assert.match(String(first.code), /^E\d{4}$/);
});

test("a field explains itself", async () => {
  const hover = await connection.sendRequest(HoverRequest.type, { textDocument: { uri }, position: { line: 3, character: 4 } });
  assert.match(JSON.stringify(hover?.contents), /dispatch/);
});

test("dispatch keys are completed", async () => {
  const answer = await connection.sendRequest(CompletionRequest.type, { textDocument: { uri }, position: { line: 4, character: 6 } });
  const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
  assert.ok(items.some((item) => item.label === "CUDA"));
});
