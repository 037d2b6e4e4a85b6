import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { z } from 'zod';
import { RUN, type Run } from './artifacts.ts';

/** An artefact that cannot be used. The message names the file, and if known the line and the field. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError';
}

/** Where a fact comes from: a file of the run's folder, relative to it, and a line, from 1. */
export interface Source {
  readonly file: string;
  readonly line: number;
}

const MAX_RUN_BYTES = 16 * 1024 * 1024;
/** etcd's largest response to a watch is some MiB; base64 adds a third. */
const MAX_LINE_CHARACTERS = 64 * 1024 * 1024;
const MAX_FILES = 10_000;

/** How a file ends: a `growing` one may end within a line, which is left out. */
export type FileEnd = 'complete' | 'growing';

/** `run.json` of a run's folder, or `begun.json` of one that goes on. Throws an ArtifactError. */
export async function readRun(folder: string, name: 'run.json' | 'begun.json' = 'run.json'): Promise<Run> {
  const { size } = await stat(path.join(folder, name)).catch((cause: unknown) => {
    throw new ArtifactError(`${folder} is not a run: ${name} cannot be read`, { cause });
  });
  if (size > MAX_RUN_BYTES) throw new ArtifactError(`${name} has ${size} bytes, more than ${MAX_RUN_BYTES}`);
  for await (const [run] of parsedLines(folder, name, RUN, 'object')) return run;
  throw new ArtifactError(`${name} is empty`);
}

/**
 * The lines of one file of the run, parsed and validated, in order. Reads `FILE.gz` if only that exists. Memory is bounded by one
 * line. A file that does not exist yields nothing: the caller decides whether that matters. Throws an ArtifactError.
 */
export function readLines<T extends z.ZodType>(
  folder: string,
  file: string,
  schema: T,
  end: FileEnd = 'complete',
): AsyncGenerator<readonly [z.infer<T>, Source]> {
  return parsedLines(folder, file, schema, end);
}

/** Names of the `.jsonl` files of a folder of the run, sorted, without endings. Empty if the folder does not exist. */
export async function namesIn(folder: string, part: string): Promise<readonly string[]> {
  const names = await readdir(path.join(folder, part)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new ArtifactError(`${part} cannot be listed`, { cause: error });
  });
  if (names.length > MAX_FILES) throw new ArtifactError(`${part} has more than ${MAX_FILES} files`);
  const matching = names.flatMap((name) => /^(.+)\.jsonl(?:\.gz)?$/.exec(name)?.[1] ?? []);
  return [...new Set(matching)].toSorted();
}

async function* parsedLines<T extends z.ZodType>(
  folder: string,
  file: string,
  schema: T,
  content: FileEnd | 'object',
): AsyncGenerator<readonly [z.infer<T>, Source]> {
  const input = await open(folder, file);
  if (input === undefined) return;
  let line = 0;
  for await (const text of content === 'object' ? [await whole(input)] : linesOf(input, file, content)) {
    line++;
    if (text === '') continue;
    yield [parseLine(text, { file, line }, schema), { file, line }];
  }
}

function parseLine<T extends z.ZodType>(content: string, { file, line }: Source, schema: T): z.infer<T> {
  let json: unknown;
  try {
    json = JSON.parse(content);
  } catch (cause) {
    throw new ArtifactError(`${file}:${line}: not JSON`, { cause });
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ArtifactError(`${file}:${line}: ${describeIssues(parsed.error.issues)}`);
}

/** The first issues with their fields. For a union: those of the variant that fits best. */
function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  return issues
    .slice(0, 3)
    .map((issue) => {
      const field = issue.path.join('.');
      const best = issue.code === 'invalid_union' ? closest(issue.errors) : undefined;
      const message = best === undefined ? issue.message : describeIssues(best);
      return field === '' ? message : `${field}: ${message}`;
    })
    .join('; ');
}

function closest(variants: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | undefined {
  return variants.toSorted((one, other) => one.length - other.length)[0];
}

async function open(folder: string, file: string): Promise<Readable | undefined> {
  for (const name of [file, `${file}.gz`]) {
    const full = path.join(folder, name);
    const found = await stat(full).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new ArtifactError(`${name} cannot be read`, { cause: error });
    });
    if (found === undefined) continue;
    if (!found.isFile()) throw new ArtifactError(`${name} is not a file`);
    const bytes = createReadStream(full);
    if (!name.endsWith('.gz')) return bytes;
    const unzipped = createGunzip();
    bytes.on('error', (error) => unzipped.destroy(error));
    return bytes.pipe(unzipped);
  }
  return undefined;
}

async function whole(input: Readable): Promise<string> {
  let all = '';
  for await (const chunk of input.setEncoding('utf8')) all += chunk as string;
  return all;
}

/** Lines without their ends. The last one of a complete file needs none: a run that was killed may end within a line, which is no JSON. */
async function* linesOf(input: Readable, file: string, end: FileEnd): AsyncGenerator<string> {
  let parts: string[] = [];
  let characters = 0;
  let line = 1;
  try {
    for await (const chunk of input.setEncoding('utf8')) {
      let from = 0;
      const piece = chunk as string;
      for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', from)) {
        yield parts.join('') + piece.slice(from, at);
        parts = [];
        characters = 0;
        line++;
        from = at + 1;
      }
      parts.push(piece.slice(from));
      characters += piece.length - from;
      if (characters > MAX_LINE_CHARACTERS) {
        throw new ArtifactError(`${file}:${line}: longer than ${MAX_LINE_CHARACTERS} characters`);
      }
    }
  } catch (error) {
    if (error instanceof ArtifactError) throw error;
    throw new ArtifactError(`${file}:${line}: cannot be read`, { cause: error });
  }
  const last = parts.join('');
  if (last !== '' && end === 'complete') yield last;
}
