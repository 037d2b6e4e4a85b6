import { inspect } from 'node:util';
import { isReason } from '@gantry/objects';
import { expect, it } from 'vitest';
import { parseKubeconfig } from './kubeconfig.ts';

it('names the line of a text that is no YAML, and does not repeat the text', () => {
  let failure: unknown;
  try {
    parseKubeconfig('users:\n- name: u\n  user:\n    token: "hunter2');
  } catch (error) {
    failure = error;
  }
  expect(isReason(failure, 'BadRequest')).toBe(true);
  expect(inspect(failure)).toMatch(/kubeconfig: .* at line 4/);
  expect(inspect(failure)).not.toContain('hunter2');
});
