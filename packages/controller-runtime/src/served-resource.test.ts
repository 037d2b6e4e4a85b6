import type { CustomResourceDefinition } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { customResource, remoteVersion } from './served-resource.ts';
import { wardleApiService } from './testing/api-services.ts';
import { establishedDefinition } from './testing/custom-definitions.ts';

const version = (name: string, served: boolean, storage: boolean) => ({ name, served, storage });

describe('what a definition serves', () => {
  it('is nothing before its names are accepted', () => {
    const { status: _status, ...fresh } = establishedDefinition();
    expect(customResource(fresh)).toBeUndefined();
  });

  it('is looked at in the version that is stored, where that is served', () => {
    const versions = [version('v1', true, false), version('v2', true, true)];
    expect(customResource(establishedDefinition({ versions }))).toMatchObject({
      group: 'example.com',
      version: 'v2',
      resource: 'widgets',
      kind: 'Widget',
      namespaced: true,
    });
    const hidden = [version('v1', true, false), version('v2', false, true)];
    expect(customResource(establishedDefinition({ versions: hidden }))?.version).toBe('v1');
  });

  it('is nothing when no version is served', () => {
    expect(customResource(establishedDefinition({ versions: [version('v1', false, true)] }))).toBeUndefined();
  });

  it('takes no new objects while it is being deleted', () => {
    const crd = establishedDefinition();
    const going: CustomResourceDefinition = {
      ...crd,
      metadata: { ...crd.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    expect(customResource(going)?.verbs).not.toContain('create');
    expect(customResource(going)?.verbs).toContain('watch');
  });
});

describe('what an APIService hands over', () => {
  it('is nothing without a service', () => {
    expect(remoteVersion(wardleApiService({}))).toBeUndefined();
  });

  it('is a group version otherwise', () => {
    const remote = remoteVersion(wardleApiService());
    expect(remote).toEqual({ name: 'v1.wardle.example.com', group: 'wardle.example.com', version: 'v1', priority: 15 });
  });
});
