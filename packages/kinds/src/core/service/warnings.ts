import { append } from '@gantry/base';
import { OLD_TOPOLOGY_MODE_ANNOTATION, type Service, TOPOLOGY_MODE_ANNOTATION } from '@gantry/objects';
import { cidrWarnings, ipWarnings } from '../../fields/ip.ts';

/** Warnings about ignored or deprecated fields of a Service. */
export function serviceWarnings({ metadata, spec = {} }: Service): string[] {
  const { type = '', clusterIP = '', clusterIPs = [], externalIPs = [], externalName = '', loadBalancerIP = '' } = spec;
  const isHeadless = type === 'ClusterIP' && clusterIP === 'None';
  const warnings: string[] = [];
  if (OLD_TOPOLOGY_MODE_ANNOTATION in (metadata.annotations ?? {})) {
    warnings.push(
      `annotation ${OLD_TOPOLOGY_MODE_ANNOTATION} is deprecated, please use ${TOPOLOGY_MODE_ANNOTATION} instead`,
    );
  }
  if (clusterIP !== '' && clusterIP !== 'None' && type !== 'ExternalName') {
    append(
      warnings,
      clusterIPs.flatMap((ip, i) => ipWarnings(ip, `spec.clusterIPs[${i}]`)),
    );
  }
  if (isHeadless) {
    if (loadBalancerIP !== '') warnings.push('spec.loadBalancerIP is ignored for headless services');
    if (externalIPs.length > 0) warnings.push('spec.externalIPs is ignored for headless services');
    if (spec.sessionAffinity !== 'None') warnings.push('spec.SessionAffinity is ignored for headless services');
  }
  append(
    warnings,
    externalIPs.flatMap((ip, i) => ipWarnings(ip, `spec.externalIPs[${i}]`)),
  );
  if (externalIPs.length > 0 && !isHeadless && type !== 'ExternalName') {
    warnings.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters');
  }
  if (loadBalancerIP !== '') append(warnings, ipWarnings(loadBalancerIP, 'spec.loadBalancerIP'));
  const ranges = spec.loadBalancerSourceRanges ?? [];
  append(
    warnings,
    ranges.flatMap((range, i) => cidrWarnings(range, `spec.loadBalancerSourceRanges[${i}]`)),
  );
  if (type === 'ExternalName' && externalIPs.length > 0) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (type !== 'ExternalName' && externalName !== '') {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}
