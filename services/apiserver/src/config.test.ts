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

it('serves what is not served by default where it is told to', () => {
  const read = (value: string) =>
    readApiServerConfig({ ...REQUIRED, GANTRY_RUNTIME_CONFIG: value }).optionalResources.map(
      ({ resource }) => resource,
    );
  expect(readApiServerConfig(REQUIRED).optionalResources).toEqual([]);
  expect(read('certificates.k8s.io/v1beta1/clustertrustbundles=true')).toEqual(['clustertrustbundles']);
  expect(read('')).toEqual([]);
  expect(read('certificates.k8s.io/v1beta1')).toEqual(['clustertrustbundles']);
  expect(read('certificates.k8s.io/v1beta1=true,certificates.k8s.io/v1beta1/clustertrustbundles=false')).toEqual([]);
  for (const bad of ['apps/v1beta1=true', 'certificates.k8s.io/v1beta1=maybe', 'certificates.k8s.io/v1beta1=true=true'])
    expect(() => read(bad)).toThrow('GANTRY_RUNTIME_CONFIG');
});
