import { describe, expect, it } from 'vitest';
import { findTerms } from './find-terms.ts';

const found = (file: string, source: string) => findTerms(file, source).map(({ line, found }) => `${line}: ${found}`);

describe('findTerms', () => {
  it('reads doc comments across line ends', () => {
    expect(found('a.ts', '/**\n * Is told\n * of changes.\n */\nexport const a = 1;\n')).toEqual(['2: told    of']);
  });

  it('reads adjacent line comments as one text', () => {
    expect(found('a.ts', 'f();\n// This goes\n// by name.\ng(); // Nobody.\n')).toEqual(['2: goes    by', '4: Nobody']);
  });

  it('reads sentences in strings and templates, but no single words', () => {
    expect(found('a.ts', "f('nobody');\nf('asks nobody for it');\nf(`${x} asks somebody for ${y}`);\n")).toEqual([
      '2: nobody',
      '3: somebody',
    ]);
  });

  it.each(["it('besides', f);", "test.each([1])('besides', f);", "describe('besides', f);", 'it(`besides ${1}`, f);'])(
    'reads the test title of %s',
    (source) => {
      expect(found('a.ts', source)).toEqual(['1: besides']);
    },
  );

  it('reads no code, import paths and comment signs inside strings', () => {
    expect(found('a.ts', "import { besides } from './nobody besides me.ts';\nconst url = 'http://nobody';\n")).toEqual(
      [],
    );
  });

  it('accepts the front door of a workspace', () => {
    expect(found('a.ts', '// The front\n// door.\nf(); // The door.\n')).toEqual(['3: door']);
  });

  it('reads names', () => {
    expect(found('a.ts', 'const resourceCatalog = openSetback(backdoor);\n')).toEqual([
      '1: resourceCatalog',
      '1: openSetback',
    ]);
  });

  it('accepts the driver of devices and volumes', () => {
    expect(found('a.ts', '// A DRA claim names the driver.\n\n// The driver.\n')).toEqual(['3: The driver']);
    expect(found('packages/kinds/src/storage/a.ts', '// The driver.\n')).toEqual([]);
  });

  it('reads Markdown without its code', () => {
    const page = 'A list,\ntold\nof `nobody`.\n\n```sh\nnobody\n```\n\n| whoever | 1 |\n';
    expect(found('a.md', page)).toEqual(['2: told of', '9: whoever']);
  });

  it('reads comments of scripts, Compose files and proto files', () => {
    expect(found('up', '#!/bin/sh nobody\n# For somebody.\necho nobody # and\n# besides\n')).toEqual([
      '2: somebody',
      '4: besides',
    ]);
    expect(found('a.proto', '// Nobody.\nstring nobody = 1; // Whoever.\n')).toEqual(['1: Nobody', '2: Whoever']);
  });

  it('reports file names that do not say what the file holds', () => {
    expect(found('a/machinery.ts', '')).toEqual(['1: machinery.ts']);
  });
});
