import ts from 'typescript';

/** A comment, a string of several words or a test title; `text` has blanks where the file has markup and line ends. */
export interface Passage {
  readonly offset: number;
  readonly text: string;
}

/** An identifier, at its offset. */
export interface Name {
  readonly offset: number;
  readonly text: string;
}

const SENTENCE = /\p{L}+\W+\p{L}+\W+\p{L}+/u;
const TEST_FUNCTIONS = ['test', 'it', 'describe'];

const blank = (text: string) => text.replace(/\S/g, ' ');
/** Replaces what the pattern matches by as many blanks, so that offsets stay. */
const without = (text: string, pattern: RegExp) => text.replace(pattern, blank).replaceAll('\n', ' ');

/** The prose and the names of a TypeScript or JavaScript file. */
export function readTypeScript(source: string): {
  readonly passages: readonly Passage[];
  readonly names: readonly Name[];
} {
  const file = ts.createSourceFile('file.ts', source, ts.ScriptTarget.Latest, true);
  const passages: Passage[] = [];
  const names: Name[] = [];
  const seen = new Set<number>();
  const add = (start: number, end: number) => {
    if (seen.has(start)) return;
    seen.add(start);
    passages.push({ offset: start, text: source.slice(start, end).replaceAll('\n', ' ') });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isIdentifier(node)) names.push({ offset: node.getStart(file), text: node.text });
    if (isText(node) && (SENTENCE.test(node.text) || isTestTitle(node))) add(node.getStart(file), node.end);
    node.getChildren(file).forEach(visit);
  };
  visit(file);
  for (const { start, end } of commentsOf(file)) {
    passages.push({ offset: start, text: without(source.slice(start, end), /^[ \t]*\*(?!\/)|\/\*\*?|\*\/|\/\/+/gm) });
  }
  return { passages, names };
}

type Text = ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail;

const isText = (node: ts.Node): node is Text =>
  ts.isStringLiteral(node) ||
  ts.isNoSubstitutionTemplateLiteral(node) ||
  ts.isTemplateHead(node) ||
  ts.isTemplateMiddle(node) ||
  ts.isTemplateTail(node);

/** Whether the string is the first argument of `test(...)`, `it.each(...)(...)` and the like. */
function isTestTitle(node: ts.Node): boolean {
  const call = ts.isTemplateExpression(node.parent) ? node.parent.parent : node.parent;
  if (!ts.isCallExpression(call) || call.arguments[0]?.pos !== node.pos) return false;
  let callee: ts.Expression = call.expression;
  while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
  return ts.isIdentifier(callee) && TEST_FUNCTIONS.includes(callee.text);
}

/** Comments; line comments on adjacent lines are one. */
function commentsOf(file: ts.SourceFile): readonly { readonly start: number; readonly end: number }[] {
  const comments: { start: number; end: number }[] = [];
  const source = file.text;
  const add = (ranges: readonly ts.CommentRange[] | undefined) => {
    for (const { pos, end } of ranges ?? []) {
      const last = comments.at(-1);
      if (last !== undefined && pos < last.end) continue;
      const joins =
        last !== undefined && source.startsWith('//', pos) && /^\n[ \t]*$/.test(source.slice(last.end, pos));
      if (joins) last.end = end;
      else comments.push({ start: pos, end });
    }
  };
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    if (node.kind === ts.SyntaxKind.JSDocComment) return;
    add(ts.getLeadingCommentRanges(source, node.pos));
    add(ts.getTrailingCommentRanges(source, node.end));
  };
  visit(file);
  return comments;
}

/** The comments of a file whose comments begin with `marker` (`#`, `//`). */
export function readLineComments(source: string, marker: '#' | '//'): readonly Passage[] {
  const comment = new RegExp(`(?:(?:^|[ \\t])${marker}(?!!).*(?:\\n(?=[ \\t]*${marker}))?)+`, 'gm');
  const signs = new RegExp(`^[ \\t]*${marker}+|[ \\t]${marker}+`, 'gm');
  return [...source.matchAll(comment)].map((match) => ({ offset: match.index, text: without(match[0], signs) }));
}

/** The prose of a Markdown file: code is left out, emphasis and links are read as text. */
export function readMarkdown(source: string): readonly Passage[] {
  const prose = source
    .replace(/^```[\s\S]*?^```/gm, blank)
    .replace(/`[^`\n]*`/g, blank)
    .replace(/\]\([^)]*\)/g, blank);
  return [...prose.matchAll(/[^\n]+(?:\n(?![\n#|>-])[^\n]+)*/g)].map((match) => ({
    offset: match.index,
    text: match[0].replaceAll('\n', ' '),
  }));
}
