import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { containerNamed, volumeNamed } from './pod-containers.ts';

it('a volume and a container of any kind are found by name, and of an unknown name none', () => {
  const object = pod({
    containers: [container('main')],
    initContainers: [container('setup')],
    ephemeralContainers: [container('debug')],
    volumes: [{ name: 'work', emptyDir: {} }],
  });
  for (const name of ['main', 'setup', 'debug']) expect(containerNamed(object, name)?.name).toBe(name);
  expect(volumeNamed(object, 'work')).toEqual({ name: 'work', emptyDir: {} });
  expect([containerNamed(object, 'work'), volumeNamed(object, 'constructor'), volumeNamed(pod(), 'a')]).toEqual(
    Array.from({ length: 3 }),
  );
});

it('the names of a pod are read once, however often it refers to them', () => {
  let reads = 0;
  const volume = (name: string) => ({
    get name() {
      reads++;
      return name;
    },
  });
  const object = pod({ volumes: Array.from({ length: 1_000 }, (_, i) => volume(`v${i}`)) });
  for (let i = 0; i < 1_000; i++) expect(volumeNamed(object, `v${i}`)).toBe(object.spec?.volumes?.[i]);
  expect(reads).toBe(1_000);
});
