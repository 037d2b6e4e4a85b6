import type { Deployment, ReplicaSet } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import {
  byRevision,
  newSetAnnotations,
  REVISION,
  REVISION_HISTORY,
  revisionAfter,
  rolloutRevision,
} from './annotations.ts';
import { replicaSetName } from './replica-sets.ts';
import { rollBack, rollbackRequest } from './rollback.ts';

const template = (image: string, hash?: string) => ({
  metadata: { labels: { app: 'a', ...(hash === undefined ? {} : { 'pod-template-hash': hash }) } },
  spec: { containers: [{ name: 'c', image }] },
});

function deployment(annotations: Record<string, string>, image = 'app:3'): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'site', annotations },
    spec: { selector: {}, template: template(image) },
  };
}

function set(revision: string, image: string, annotations: Record<string, string> = {}): ReplicaSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: `site-${revision}`, annotations: { [REVISION]: revision, ...annotations } },
    spec: { selector: {}, template: template(image, revision) },
  };
}

describe('the annotations of the new set', () => {
  const site = deployment({ cause: 'edit', [REVISION]: '9', 'kubectl.kubernetes.io/last-applied-configuration': '{}' });

  it('are those of the Deployment that are not its own, and the revision', () => {
    expect(newSetAnnotations(site, {}, 1n)).toEqual({ cause: 'edit', [REVISION]: '1' });
  });

  it('keep a higher revision', () => {
    expect(newSetAnnotations(site, { [REVISION]: '5' }, 4n)).toEqual({ cause: 'edit', [REVISION]: '5' });
  });

  it('collect the revisions that the set had', () => {
    const once = newSetAnnotations(site, { [REVISION]: '1' }, 3n);
    expect(once).toMatchObject({ [REVISION]: '3', [REVISION_HISTORY]: '1' });
    expect(newSetAnnotations(site, once, 5n)).toMatchObject({ [REVISION]: '5', [REVISION_HISTORY]: '1,3' });
  });

  it('drop the oldest revisions beyond 2000 characters', () => {
    const many = Array.from({ length: 400 }, (_, i) => String(1000 + i)).join(',');
    const history = newSetAnnotations(site, { [REVISION]: '5000', [REVISION_HISTORY]: many }, 6000n)[REVISION_HISTORY];
    expect(many).toHaveLength(1999);
    expect(history).toHaveLength(1999);
    expect(history?.startsWith('1001,')).toBe(true);
    expect(history?.endsWith(',1399,5000')).toBe(true);
  });

  it.each(['9'.repeat(400), '9223372036854775808', '-9223372036854775809', '1e3', ''])(
    'do not count %s, which a user wrote, as a revision',
    (text) => {
      expect(rolloutRevision(set(text, 'a'))).toBe(0n);
    },
  );

  it('count revisions of 64 bits exactly, and wrap after the last one', () => {
    expect(revisionAfter([set('3546343826724305832', 'a'), set('+0001', 'b')])).toBe(3546343826724305833n);
    expect(revisionAfter([set('9223372036854775807', 'a')])).toBe(-9223372036854775808n);
    expect(revisionAfter([set('-5', 'a')])).toBe(1n);
    const [older, newer] = [set('3546343826724305832', 'a'), set('3546343826724305833', 'b')];
    expect([newer, older].toSorted(byRevision)).toEqual([older, newer]);
    expect(rollBack(deployment({}), [newer, older], 0n).message).toContain('to revision 3546343826724305832');
    const kept = { [REVISION]: '3546343826724305833' };
    expect(newSetAnnotations(site, kept, 3546343826724305832n)).toMatchObject(kept);
  });

  it('stay where the revision is no number', () => {
    const odd = { [REVISION]: 'first' };
    expect(newSetAnnotations(site, odd, 2n)).toEqual(odd);
    expect(rolloutRevision(set('12x', 'i'))).toBe(0n);
  });
});

it('names a set by Deployment and hash, shortened to 253 characters', () => {
  expect(replicaSetName('site', 'abc')).toBe('site-abc');
  expect(replicaSetName('d'.repeat(300), 'abcde')).toBe(`${'d'.repeat(247)}-abcde`);
});

describe('a rollback by annotation', () => {
  const ROLLBACK_TO = 'deprecated.deployment.rollback.to';
  const sets = [set('1', 'app:1', { cause: 'create' }), set('2', 'app:2'), set('3', 'app:3')];

  it('is asked for by a whole number', () => {
    const asked = (text: string) => rollbackRequest(deployment({ [ROLLBACK_TO]: text }));
    expect(['0', '2', '', 'last'].map(asked)).toEqual([0n, 2n, undefined, undefined]);
    expect(rollbackRequest(deployment({}))).toBeUndefined();
  });

  it('takes over template and annotations of the revision, and removes the request', () => {
    const result = rollBack(deployment({ [ROLLBACK_TO]: '1', cause: 'edit', [REVISION]: '3' }), sets, 1n);
    expect(result).toMatchObject({
      type: 'Normal',
      reason: 'DeploymentRollback',
      message: 'Rolled back deployment "site" to revision 1',
    });
    expect(result.deployment.spec?.template).toEqual(template('app:1'));
    expect(result.deployment.metadata.annotations).toEqual({ cause: 'create', [REVISION]: '3' });
  });

  it('goes to the last revision where it names none', () => {
    expect(rollBack(deployment({}), sets, 0n).deployment.spec?.template).toEqual(template('app:2'));
  });

  it.each([
    [7n, 'DeploymentRollbackRevisionNotFound', 'Unable to find the revision to rollback to.', sets],
    [0n, 'DeploymentRollbackRevisionNotFound', 'Unable to find last revision.', sets.slice(2)],
    [
      3n,
      'DeploymentRollbackTemplateUnchanged',
      'The rollback revision contains the same template as current deployment "site"',
      sets,
    ],
  ] as const)('to %i is refused with %s', (request, reason, message, all) => {
    const asked = deployment({ [ROLLBACK_TO]: String(request), cause: 'edit' });
    const result = rollBack(asked, all, request);
    expect(result).toMatchObject({ type: 'Warning', reason, message });
    expect(result.deployment).toEqual(deployment({ cause: 'edit' }));
  });
});
