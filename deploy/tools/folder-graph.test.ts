import { describe, expect, it } from 'vitest';
import { ANYTHING, checkFolders, type FolderTable } from './folder-graph.ts';

/** A made-up tree: files with their imports. */
function tree(files: Readonly<Record<string, readonly string[]>>) {
  return Object.entries(files).map(([path, imports]) => ({ path, imports }));
}

const TABLE: FolderTable = {
  'index.ts': ANYTHING,
  '.': [],
  store: ['.'],
  rules: ['.', 'store'],
  'rules/*': ['.', 'rules'],
};

const SOUND = {
  'index.ts': ['./errors.ts', './rules/all.ts'],
  'errors.ts': [],
  'store/store.ts': ['../errors.ts', './keys.ts'],
  'store/keys.ts': [],
  'rules/all.ts': ['../store/store.ts'],
  'rules/quota/quota.ts': ['../all.ts', '../../errors.ts'],
  'rules/limits/limits.ts': ['../all.ts'],
};

describe('the folders of a workspace', () => {
  it('pass when all imports are in the table', () => {
    expect(checkFolders(tree(SOUND), TABLE)).toEqual([]);
  });

  it.each<[string, Readonly<Record<string, readonly string[]>>, readonly string[]]>([
    [
      'that import what they may not are reported with the import',
      { 'store/store.ts': ['../rules/all.ts'], 'rules/all.ts': [] },
      ['store/store.ts imports rules/all.ts: store may not import rules'],
    ],
    [
      'that are not in the table are reported once',
      { 'extra/one.ts': ['../errors.ts', '../store/keys.ts'] },
      ['folder extra is not in the table'],
    ],
    [
      'that stand in one row may not import each other',
      { 'rules/quota/quota.ts': ['../limits/limits.ts'] },
      ['rules/quota/quota.ts imports rules/limits/limits.ts: rules/quota may not import rules/limits'],
    ],
    [
      'without a row are part of the folder around them',
      { 'store/keys/keys.ts': ['../../rules/all.ts'], 'rules/all.ts': [] },
      ['store/keys/keys.ts imports rules/all.ts: store may not import rules'],
    ],
    [
      'may not import the front door',
      { 'rules/all.ts': ['../index.ts'], 'index.ts': [] },
      ['rules/all.ts imports index.ts: rules may not import index.ts'],
    ],
    [
      'may not import test code, unless they are test code',
      { 'store/store.ts': ['./testing/fake.ts'], 'store/testing/fake.ts': ['../../rules/all.ts'] },
      ['store/store.ts imports store/testing/fake.ts, which is for tests'],
    ],
  ])('%s', (_title, changed, problems) => {
    expect(checkFolders(tree({ ...SOUND, ...changed }), TABLE)).toEqual(problems);
  });

  it('that form a cycle are reported with the imports that make it, allowed or not', () => {
    const files = tree({
      ...SOUND,
      'errors.ts': ['./rules/all.ts'],
      'rules/all.ts': ['../store/store.ts'],
    });
    const [cycle, ...others] = checkFolders(files, { ...TABLE, '.': ['rules'] });
    expect(others).toEqual([]);
    expect(cycle?.split('\n')).toEqual([
      'cycle of folders: . -> rules -> store -> .',
      '    errors.ts imports rules/all.ts',
      '    rules/all.ts imports store/store.ts',
      '    store/store.ts imports errors.ts',
    ]);
  });

  it('that form two cycles are reported in both', () => {
    const files = tree({
      'a/a.ts': ['../b/b.ts'],
      'b/b.ts': ['../a/a.ts'],
      'c/c.ts': ['../d/d.ts'],
      'd/d.ts': ['../c/c.ts'],
    });
    const table: FolderTable = { a: ['b'], b: ['a'], c: ['d'], d: ['c'] };
    const cycles = checkFolders(files, table).map((problem) => problem.split('\n')[0]);
    expect(cycles).toEqual(['cycle of folders: a -> b -> a', 'cycle of folders: c -> d -> c']);
  });

  it('that the table names must exist', () => {
    expect(checkFolders(tree(SOUND), { ...TABLE, gone: [], store: ['.', 'lost'], 'old/*': [] })).toEqual([
      'the row for store names lost, which does not exist',
      'the table has a row for gone, which does not exist',
      'the table has a row for old/*, which does not exist',
    ]);
  });
});
