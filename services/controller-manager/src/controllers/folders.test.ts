import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('./', import.meta.url);
const FOLDERS = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const REGISTRY = readFileSync(new URL('../registry.ts', ROOT), 'utf8');

describe.each(FOLDERS.map(({ name }) => name))('the folder of the controller %s', (name) => {
  const files = readdirSync(new URL(`${name}/`, ROOT));

  it('has a plan, a shell and a test of the plan', () => {
    expect(files).toEqual(expect.arrayContaining(['plan.ts', 'controller.ts', 'plan.test.ts']));
  });

  it('is in the registry', () => {
    expect(REGISTRY).toContain(`'./controllers/${name}/controller.ts'`);
  });

  it('returns a Plan from its plan', () => {
    const plan = readFileSync(new URL(`${name}/plan.ts`, ROOT), 'utf8');
    expect(plan).toMatch(/^export function plan\w+[\s\S]*?\): Plan<Action(<T>)?> \{/m);
  });
});
