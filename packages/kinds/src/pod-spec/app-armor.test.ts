import { describe, expect, it } from 'vitest';
import type { AppArmorProfile, Pod } from '@gantry/objects';
import { moveAppArmorAnnotations, validateAppArmorProfile } from './app-armor.ts';
import { validateAnnotationChange, validatePodAnnotations, validateProfilesAgree } from './annotations.ts';

const KEY = 'container.apparmor.security.beta.kubernetes.io/c';

function pod(annotations: Record<string, string>, ofPod?: AppArmorProfile): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      ...(ofPod === undefined ? {} : { securityContext: { appArmorProfile: ofPod } }),
    },
  };
}

function moved(object: Pod) {
  const warnings: string[] = [];
  moveAppArmorAnnotations(object, (text) => warnings.push(text));
  return { profile: object.spec?.containers[0]?.securityContext?.appArmorProfile, warnings };
}

const SAID = [`metadata.annotations[${KEY}]: deprecated since v1.30; use the "appArmorProfile" field instead`];

describe('an annotation that names an AppArmor profile', () => {
  it.each([
    ['runtime/default', { type: 'RuntimeDefault' }],
    ['unconfined', { type: 'Unconfined' }],
    ['localhost/foo', { type: 'Localhost', localhostProfile: 'foo' }],
    ['localhost/', undefined],
    ['localhost/ foo', undefined],
    ['bogus', undefined],
  ])('becomes a field where it can: %s', (annotation, profile) => {
    expect(moved(pod({ [KEY]: annotation }))).toEqual({ profile, warnings: SAID });
  });

  it('is not repeated where the pod says the same', () => {
    const same = pod({ [KEY]: 'unconfined' }, { type: 'Unconfined' });
    expect(moved(same)).toEqual({ profile: undefined, warnings: [] });
  });

  it('must be of a container and agree with the field', () => {
    const paths = (annotations: Record<string, string>, ofPod?: AppArmorProfile) => {
      const { metadata, spec = { containers: [] } } = pod(annotations, ofPod);
      return [...validatePodAnnotations(metadata, spec, 'a'), ...validateProfilesAgree(metadata, spec, 'spec')].map(
        ({ field }) => field,
      );
    };
    expect(paths({ [`${KEY}x`]: 'runtime/default' })).toEqual([`a[${KEY}x]`]);
    expect(paths({ [KEY]: 'bogus' })).toEqual([`a[${KEY}]`]);
    const at = 'spec.containers[0].securityContext.appArmorProfile';
    expect(paths({ [KEY]: 'unconfined' }, { type: 'RuntimeDefault' })).toEqual([`${at}.type`]);
    expect(paths({ [KEY]: 'localhost/a' }, { type: 'Localhost', localhostProfile: 'b' })).toEqual([
      `${at}.localhostProfile`,
    ]);
  });

  it('stays as it is', () => {
    const verbs = (after: Record<string, string>, before: Record<string, string>) =>
      validateAnnotationChange(pod(after), pod(before)).map(({ detail }) => detail);
    expect(verbs({}, { [KEY]: 'unconfined' })).toEqual(['may not remove or update AppArmor annotations']);
    expect(verbs({ [KEY]: 'unconfined' }, {})).toEqual(['may not add AppArmor annotations']);
  });
});

it('refuses paths of profiles that are padded, empty or too long', () => {
  const of = (localhostProfile: string) =>
    validateAppArmorProfile({ type: 'Localhost', localhostProfile }, 'p').map(({ type }) => type);
  expect(of(' a')).toEqual(['FieldValueInvalid']);
  expect(of('')).toEqual(['FieldValueRequired']);
  expect(of('a'.repeat(4096))).toEqual(['FieldValueTooLong']);
});

it('checks what Kubernetes reads in annotations of pods', () => {
  const said = (annotations: Record<string, string>) =>
    validatePodAnnotations({ annotations }, { containers: [] }, 'a').map(({ detail }) => detail);
  for (const cost of ['-1', '0', '2147483647']) {
    expect(said({ 'controller.kubernetes.io/pod-deletion-cost': cost })).toEqual([]);
  }
  for (const cost of ['', '+1', '01', 'x', '2147483648']) {
    expect(said({ 'controller.kubernetes.io/pod-deletion-cost': cost })).toEqual(['must be a 32bit integer']);
  }
  expect(said({ 'seccomp.security.alpha.kubernetes.io/pod': 'x' })).toEqual(['must be a valid seccomp profile']);
  expect(said({ 'seccomp.security.alpha.kubernetes.io/pod': 'localhost/../x' })).toEqual(["must not contain '..'"]);
  expect(said({ 'kubernetes.io/config.mirror': 'x' })).toEqual([
    'must set spec.nodeName if mirror pod annotation is set',
  ]);
});
