/** Starts the language server of Opwright, restarts it when its settings change, and explains operators. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { type Settings, explainCommand, isOperatorFile, likelyPrograms, nameAt, serverCommand, startFailure } from "./settings";

let client: LanguageClient | undefined;
let output: vscode.OutputChannel;
let hasStarted = false;

/** The interpreter that the user chose in the extension for Python, if there is one. */
async function interpreter(): Promise<string | undefined> {
  const python = vscode.extensions.getExtension("ms-python.python");
  const environments = (await python?.activate())?.environments;
  return environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri)?.path;
}

/** Whether a user or a workspace names the program. */
function isNamed(): boolean {
  const found = vscode.workspace.getConfiguration("opwright").inspect("command");
  return [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue].some((value) => value !== undefined);
}

/** The program that no setting names; in a workspace that is not trusted, that on the PATH alone. */
async function foundCommand(): Promise<string[]> {
  const places = vscode.workspace.isTrusted ? likelyPrograms(folder(), await interpreter(), process.platform === "win32") : [];
  return [places.find((place) => existsSync(place)) ?? "opwright"];
}

async function settings(): Promise<Settings> {
  const section = vscode.workspace.getConfiguration("opwright");
  return {
    command: isNamed() ? section.get("command", ["opwright"]) : await foundCommand(),
    torch: section.get("torch", "auto"),
    sourcePath: section.get("sourcePath", ""),
    plugins: section.get("plugins", []),
    allowPaths: section.get("allowPaths", []),
  };
}

function folder(): string | undefined {
  return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
}

async function start(): Promise<void> {
  const command = serverCommand(await settings(), folder());
  const options: LanguageClientOptions = {
    // From a function in C++, its definition is the entry that names it.
    documentSelector: ["yaml", "cpp", "cuda-cpp"].map((language) => ({ scheme: "file", language })),
    outputChannel: output,
  };
  client = new LanguageClient("opwright", "Opwright", { command: command.program, args: command.args }, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const reason = error instanceof Error ? error.message : String(error);
    output.appendLine(startFailure(command, reason));
    // Nobody who has not installed the server asked for a box; a program that a setting names should be there.
    if (isNamed()) {
      void vscode.window.showErrorMessage(startFailure(command, reason));
    } else {
      vscode.window.setStatusBarMessage("Opwright is not installed here: see its output", 10_000);
    }
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

/** Starts the server once a file is open that it reads. */
async function startFor(documents: readonly vscode.TextDocument[]): Promise<void> {
  const isWanted = (document: vscode.TextDocument): boolean =>
    document.languageId === "yaml" && isOperatorFile(document.fileName, document.getText());
  if (!hasStarted && documents.some(isWanted)) {
    hasStarted = true;
    await start();
  }
}

/** Shows what `opwright explain` prints of the name at the cursor, or of one that the user types. */
async function explain(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const at = editor === undefined ? "" : nameAt(editor.document.lineAt(editor.selection.active).text, editor.selection.active.character);
  const name = await vscode.window.showInputBox({ prompt: "An operator, a name of C++ or Python, or a code", value: at });
  if (!name) {
    return;
  }
  const command = explainCommand(await settings(), folder(), name);
  const text = await new Promise<string>((resolve) => {
    execFile(command.program, command.args, { maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      resolve(stdout || stderr || startFailure(command, error?.message ?? "it prints nothing"));
    });
  });
  const document = await vscode.workspace.openTextDocument({ content: text, language: "plaintext" });
  await vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside });
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  output = vscode.window.createOutputChannel("Opwright");
  context.subscriptions.push(
    output,
    vscode.commands.registerCommand("opwright.restart", restart),
    vscode.commands.registerCommand("opwright.showOutput", () => output.show()),
    vscode.commands.registerCommand("opwright.explain", explain),
    vscode.workspace.onDidOpenTextDocument((document) => startFor([document])),
    vscode.workspace.onDidGrantWorkspaceTrust(() => (hasStarted ? restart() : undefined)),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (hasStarted && event.affectsConfiguration("opwright")) {
        await restart();
      }
    }),
  );
  await startFor(vscode.workspace.textDocuments);
}

export async function deactivate(): Promise<void> {
  await stop();
}
