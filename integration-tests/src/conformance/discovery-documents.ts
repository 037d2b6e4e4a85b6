import { expect } from 'vitest';
import type { ResourceKind } from './resource.ts';
import type { ClusterUnderTest } from './world.ts';

/** The JSON document at a path that must be there. */
export async function documentAt<T>(cluster: ClusterUnderTest, path: string, accept = 'application/json'): Promise<T> {
  const answer = await cluster.raw(path, { headers: { accept } });
  expect(answer.status, `${path}: ${answer.text.slice(0, 200)}`).toBe(200);
  return JSON.parse(answer.text) as T;
}

interface Group {
  readonly name: string;
  readonly versions: readonly { readonly version: string; readonly groupVersion: string }[];
}

/** The group is in /apis, its version in the group's document, the resource and its subresources in the version's. */
export async function expectDiscovered(
  cluster: ClusterUnderTest,
  kind: ResourceKind,
  subresources: readonly string[] = [],
): Promise<void> {
  const { group, version, resource } = kind;
  const groups = await documentAt<{ groups: readonly Group[] }>(cluster, '/apis');
  const listed = groups.groups.find(({ name }) => name === group);
  expect(listed?.versions.map((one) => one.version)).toContain(version);
  const own = await documentAt<Group>(cluster, `/apis/${group}`);
  expect(own.name).toBe(group);
  expect(own.versions.map((one) => one.version)).toContain(version);
  const resources = await resourceNames(cluster, `/apis/${group}/${version}`, `${group}/${version}`);
  expect(resources).toEqual(expect.arrayContaining([resource, ...subresources.map((name) => `${resource}/${name}`)]));
}

/** Names of the resources in the document of a group's version, which must be that of `groupVersion`. */
export async function resourceNames(
  cluster: ClusterUnderTest,
  path: string,
  groupVersion: string,
): Promise<readonly string[]> {
  const list = await documentAt<{ groupVersion: string; resources: readonly { name: string }[] }>(cluster, path);
  expect(list.groupVersion).toBe(groupVersion);
  return list.resources.map(({ name }) => name);
}
