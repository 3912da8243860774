/** Starts the language server of Opwright, restarts it when its settings change, and explains operators. */

import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { type Settings, explainCommand, nameAt, serverCommand, startFailure } from "./settings";

let client: LanguageClient | undefined;
let output: vscode.OutputChannel;

function settings(): Settings {
  const section = vscode.workspace.getConfiguration("opwright");
  return {
    command: section.get("command", ["opwright"]),
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
  const command = serverCommand(settings(), folder());
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
    void vscode.window.showErrorMessage(startFailure(command, reason));
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

/** Shows what `opwright explain` prints of the name at the cursor, or of one that the user types. */
async function explain(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const at = editor === undefined ? "" : nameAt(editor.document.lineAt(editor.selection.active).text, editor.selection.active.character);
  const name = await vscode.window.showInputBox({ prompt: "An operator, a name of C++ or Python, or a code", value: at });
  if (!name) {
    return;
  }
  const command = explainCommand(settings(), folder(), name);
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
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("opwright")) {
        await restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}
