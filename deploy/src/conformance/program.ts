import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { compareImages, type ImageEntry, parseImageList, parseImageTable } from './image-table.ts';
import { isConformance, type OfficialTest, parseTestList } from './test-list.ts';

/** How many tests the suite of the pinned release has. */
const CONFORMANCE_TESTS = 446;

/** The official program of one release. */
export interface Program {
  /** The folder with `e2e.test`, `ginkgo`, and the programs of the images. */
  readonly folder: string;
  readonly release: string;
  readonly tests: readonly OfficialTest[];
  /** What the images that it asks for are made of. */
  readonly images: readonly ImageEntry[];
}

/** Builds the program where it is missing, and reads what it asks for. */
export async function ensureProgram(root: string, shell: Shell, note: (text: string) => void): Promise<Program> {
  const built = await mustRun(shell, join(root, 'deploy/bin/ensure-conformance-program'), [], { onLine: note });
  const folder = built.trim();
  const release = basename(folder).split('-')[0] ?? '';
  const e2e = join(folder, 'e2e.test');
  const tests = parseTestList(await mustRun(shell, e2e, ['--list-tests']));
  const suite = tests.filter(isConformance).length;
  if (suite !== CONFORMANCE_TESTS) {
    throw new CommandError(`${release} lists ${suite} conformance tests, not ${CONFORMANCE_TESTS}`);
  }
  const images = parseImageTable(readFileSync(join(root, 'deploy/conformance/images.json'), 'utf8'));
  const differences = compareImages(images, parseImageList(await mustRun(shell, e2e, ['--list-images'])));
  if (differences.length > 0) throw new CommandError(differences.join('\n'));
  note(`${release}, ${suite} conformance tests of ${tests.length}, ${images.length} images`);
  return { folder, release, tests, images };
}
