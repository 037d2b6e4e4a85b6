import ts from 'typescript';
import type { SourceFile } from './source-files.ts';

/** A function with a body; `lines` are those from its first word to its end. */
export interface FunctionShape {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
  readonly parameters: number;
}

/** What is counted of one file. Lines count from 1. */
export interface FileShape {
  readonly path: string;
  readonly lines: number;
  readonly functions: readonly FunctionShape[];
  /** Lines of statements that stand inside three others of the same function. */
  readonly deepLines: readonly number[];
  readonly interfaces: readonly { readonly name: string; readonly line: number; readonly methods: number }[];
  readonly exports: readonly { readonly name: string; readonly line: number; readonly documented: boolean }[];
  /** Lines with `as unknown as`. */
  readonly forcedCasts: readonly number[];
  /** Relative paths that the file imports or exports from, those of types alone included. */
  readonly imports: readonly string[];
  /** Lines that belong to import statements and to exports from other files. */
  readonly importLines: ReadonlySet<number>;
}

/** Statements that nest; an `else if` goes on at the depth of its `if`. */
const NESTING: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.IfStatement,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForInStatement,
  ts.SyntaxKind.ForOfStatement,
  ts.SyntaxKind.WhileStatement,
  ts.SyntaxKind.DoStatement,
  ts.SyntaxKind.SwitchStatement,
  ts.SyntaxKind.TryStatement,
]);
const DEEP = 4;

/** The name of a function that has none. */
export const ANONYMOUS = '(anonymous)';

/** Counts what `FileShape` names in one file, from its syntax alone. */
export function measureFile({ path, text }: SourceFile): FileShape {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const lineOf = (node: ts.Node) => lineAt(node.getStart(source));

  const functions: FunctionShape[] = [];
  const deepLines: number[] = [];
  const interfaces: FileShape['interfaces'][number][] = [];
  const forcedCasts: number[] = [];

  const visit = (node: ts.Node, depth: number): void => {
    let inner = depth;
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      functions.push(shapeOf(node, lineOf(node), lineAt(node.getEnd())));
      inner = 0;
    } else if (NESTING.has(node.kind) && !isElseIf(node)) {
      inner = depth + 1;
      if (inner === DEEP) deepLines.push(lineOf(node));
    } else if (ts.isInterfaceDeclaration(node)) {
      interfaces.push({ name: node.name.text, line: lineOf(node), methods: node.members.filter(isMethod).length });
    } else if (isForcedCast(node)) {
      forcedCasts.push(lineOf(node));
    }
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(source, 0);

  const links = source.statements.filter(isLink);
  return {
    path,
    lines: text === '' ? 0 : text.replace(/\n$/, '').split('\n').length,
    functions,
    deepLines,
    interfaces,
    exports: source.statements.flatMap((statement) =>
      exportedNames(statement).map((name) => ({
        name,
        line: lineOf(statement),
        documented: ts.getJSDocCommentsAndTags(statement).length > 0,
      })),
    ),
    forcedCasts,
    imports: links.map(({ moduleSpecifier }) => moduleSpecifier.text).filter((name) => name.startsWith('.')),
    importLines: new Set(links.flatMap((link) => range(lineOf(link), lineAt(link.getEnd())))),
  };
}

function shapeOf(node: ts.FunctionLikeDeclaration, first: number, last: number): FunctionShape {
  return { name: nameOf(node), line: first, lines: last - first + 1, parameters: node.parameters.length };
}

/** The function's own name, or that of the variable or property that holds it. */
function nameOf(node: ts.FunctionLikeDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  const named = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent);
  return named ? parent.name.getText() : ANONYMOUS;
}

function isElseIf(node: ts.Node): boolean {
  return ts.isIfStatement(node) && ts.isIfStatement(node.parent) && node.parent.elseStatement === node;
}

function isMethod(member: ts.TypeElement): boolean {
  return (
    ts.isMethodSignature(member) ||
    (ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type))
  );
}

function isForcedCast(node: ts.Node): boolean {
  if (!ts.isAsExpression(node)) return false;
  let inner = node.expression;
  while (ts.isParenthesizedExpression(inner)) inner = inner.expression;
  return ts.isAsExpression(inner) && inner.type.kind === ts.SyntaxKind.UnknownKeyword;
}

type Link = (ts.ImportDeclaration | ts.ExportDeclaration) & { readonly moduleSpecifier: ts.StringLiteral };

function isLink(statement: ts.Statement): statement is Link {
  return (
    (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) &&
    statement.moduleSpecifier !== undefined &&
    ts.isStringLiteral(statement.moduleSpecifier)
  );
}

/** The names that a statement declares and exports; what is only handed on from another file is counted there. */
function exportedNames(statement: ts.Statement): readonly string[] {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  }
  const { name } = statement as ts.DeclarationStatement;
  return [name === undefined ? 'default' : name.getText()];
}

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
