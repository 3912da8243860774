/** What the settings of the extension come to; nothing here needs the editor. */

/** The settings `opwright.*`. */
export interface Settings {
  command: string[];
  torch: string;
  sourcePath: string;
  plugins: string[];
  allowPaths: string[];
}

/** A program and its arguments. */
export interface Command {
  program: string;
  args: string[];
}

/** Puts the folder of the workspace into a setting. Without a folder, a setting that names it is as it stands. */
export function inWorkspace(text: string, folder: string | undefined): string {
  return folder === undefined ? text : text.replaceAll("${workspaceFolder}", folder);
}

/** The words of the command line that choose PyTorch. */
function releaseArguments(settings: Settings): string[] {
  if (settings.sourcePath !== "") {
    return ["--source-path", settings.sourcePath];
  }
  return settings.torch === "" ? [] : ["--torch", settings.torch];
}

/** Runs a command of Opwright as the settings ask. */
function commandLine(settings: Settings, folder: string | undefined, args: string[]): Command {
  const [program = "opwright", ...first] = settings.command;
  const words = [...first, ...args].map((word) => inWorkspace(word, folder));
  return { program: inWorkspace(program, folder), args: words };
}

/** Starts the language server. */
export function serverCommand(settings: Settings, folder: string | undefined): Command {
  const plugins = settings.plugins.flatMap((name) => ["--plugin", name]);
  const paths = settings.allowPaths.flatMap((path) => ["--allow-path", path]);
  return commandLine(settings, folder, ["lsp", ...releaseArguments(settings), ...plugins, ...paths]);
}

/** Explains an operator, a name of C++ or Python, or a diagnostic code. */
export function explainCommand(settings: Settings, folder: string | undefined, name: string): Command {
  const isCode = /^[EW]\d{4}$/.test(name);
  return commandLine(settings, folder, ["explain", name, ...(isCode ? [] : releaseArguments(settings)), "--color", "never"]);
}

/** The word to explain at a place in a line: the name of an operator with its overload, or a code. */
export function nameAt(line: string, character: number): string {
  for (const match of line.matchAll(/[A-Za-z_][\w:.]*/g)) {
    if (match.index <= character && character <= match.index + match[0].length) {
      return match[0].replace(/[.:]+$/, "");
    }
  }
  return "";
}

/** Whether a YAML file is one of those that the server reads; others start nothing. */
export function isOperatorFile(path: string, text: string): boolean {
  const name = path.split(/[\\/]/).pop() ?? "";
  const isNamed = ["native_functions.yaml", "derivatives.yaml", "deprecated.yaml", "tags.yaml"].includes(name);
  const isLibrary = /^(namespace|backend)\s*:/m.test(text) && /^(operators|supported|autograd|cpp_namespace|derivatives)\s*:/m.test(text);
  return isNamed || isLibrary || /^\s*-\s+func\s*:/m.test(text);
}

/** Where the program may be if no setting names it, best first: beside the chosen interpreter, in `.venv`. */
export function likelyPrograms(folder: string | undefined, interpreter: string | undefined, isWindows: boolean): string[] {
  const [bin, name] = isWindows ? ["Scripts", "opwright.exe"] : ["bin", "opwright"];
  const beside = interpreter === undefined ? [] : [interpreter.replace(/[^\\/]*$/, name)];
  return folder === undefined ? beside : [...beside, `${folder}/.venv/${bin}/${name}`];
}

/** What to tell a user whose program does not start. */
export function startFailure(command: Command, reason: string): string {
  const advice = "Install it with pip and the extra `lsp`, beside the project's Python or in its `.venv`, or name it in the setting `opwright.command`.";
  return `Opwright's server (\`${[command.program, ...command.args].join(" ")}\`) does not start: ${reason}. ${advice}`;
}
