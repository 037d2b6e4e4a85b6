import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { basesOf, compareImages, parseImageList, parseImageTable } from './image-table.ts';

const FOLDER = new URL('../../conformance/', import.meta.url);
const TABLE = parseImageTable(readFileSync(new URL('images.json', FOLDER), 'utf8'));
const standIns = TABLE.flatMap((entry) => (entry.kind === 'stand-in' ? [entry] : []));

test('the list of the program is read without what is said around it', () => {
  expect(parseImageList('I1122 flags\n  registry.k8s.io/pause:3.10.2\ngcr.io/a/b:1\n\n')).toEqual([
    'registry.k8s.io/pause:3.10.2',
    'gcr.io/a/b:1',
  ]);
});

test('a difference between the table and the program is named in both directions', () => {
  const [entry] = TABLE;
  const asked = TABLE.map(({ name }) => name);
  expect(compareImages(TABLE, asked)).toEqual([]);
  expect(compareImages(TABLE, [...asked, 'a/b:1'])).toEqual(['the program asks for a/b:1, which images.json lacks']);
  expect(compareImages(TABLE, asked.slice(1))).toEqual([`images.json has ${entry?.name}, which no test asks for`]);
});

test('the table names each image once, with what it is made of and its proofs, or why it is not made', () => {
  expect(new Set(TABLE.map(({ name }) => name)).size).toBe(43);
  expect(TABLE.length).toBe(43);
  for (const entry of TABLE) {
    if (entry.kind === 'stand-in') {
      expect(entry.proofs.length, entry.name).toBeGreaterThan(0);
      for (const proof of entry.proofs) {
        expect(() => new RegExp(proof.says, 'ms')).not.toThrow();
        expect('serve' in proof || proof.run.includes('IMAGE'), entry.name).toBe(true);
      }
    } else expect(entry.why, entry.name).not.toBe('');
  }
});

test('every Dockerfile makes an image of the table, and every base is there before it is used', () => {
  const files = readdirSync(new URL('images/', FOLDER)).map((file) => file.replace('.Dockerfile', ''));
  expect([...new Set(standIns.map(({ dockerfile }) => dockerfile))].toSorted()).toEqual(files.toSorted());
  const list = readFileSync(new URL('../images/list.txt', FOLDER), 'utf8');
  standIns.forEach(({ dockerfile }, i) => {
    for (const base of basesOf(readFileSync(new URL(`images/${dockerfile}.Dockerfile`, FOLDER), 'utf8'))) {
      const isMadeBefore = standIns.slice(0, i).some(({ name }) => name === base);
      expect(isMadeBefore || list.includes(`\n${base} `), `${dockerfile} from ${base}`).toBe(true);
    }
  });
});
