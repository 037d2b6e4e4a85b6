import { expect, it } from 'vitest';
import { readApiServerConfig } from './config.ts';

const REQUIRED = { GANTRY_ETCD: 'https://etcd-0:2379' };
const PREFIX = 'GANTRY_POD_SECURITY_EXEMPT_';

it('exempts nothing from Pod Security unless it is told to', () => {
  expect(readApiServerConfig(REQUIRED).podSecurityExemptions).toEqual({
    usernames: [],
    runtimeClasses: [],
    namespaces: [],
  });
  const exempt = {
    [`${PREFIX}USERNAMES`]: 'system:serviceaccount:kube-system:replicaset-controller, bob',
    [`${PREFIX}RUNTIME_CLASSES`]: 'strong',
    [`${PREFIX}NAMESPACES`]: 'kube-system',
  };
  expect(readApiServerConfig({ ...REQUIRED, ...exempt }).podSecurityExemptions).toEqual({
    usernames: ['system:serviceaccount:kube-system:replicaset-controller', 'bob'],
    runtimeClasses: ['strong'],
    namespaces: ['kube-system'],
  });
});

it.each([
  ['NAMESPACES', 'Kube', '"Kube"'],
  ['NAMESPACES', 'a,a', '"a": is repeated'],
  ['RUNTIME_CLASSES', '-', '"-"'],
  ['USERNAMES', ',', 'has no elements'],
])('names the variable of a bad exemption: %s=%s', (name, value, message) => {
  const read = () => readApiServerConfig({ ...REQUIRED, [PREFIX + name]: value });
  expect(read).toThrow(PREFIX + name);
  expect(read).toThrow(message);
});
