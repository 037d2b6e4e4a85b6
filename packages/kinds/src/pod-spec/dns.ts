import { append } from '@gantry/base';
import {
  type FieldError,
  type HostAlias,
  type PodSpec,
  dns1123Subdomain,
  dns1123SubdomainWithUnderscore,
  invalid,
  required,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';
import { validateIp } from '../fields/ip.ts';

const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;

export function validatePodDns({ dnsConfig, dnsPolicy }: PodSpec, path: string): FieldError[] {
  if (dnsPolicy === 'None') {
    if (dnsConfig === undefined) return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    if ((dnsConfig.nameservers ?? []).length === 0) {
      return [required(`${path}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None')];
    }
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  const errors: FieldError[] = [];
  if (nameservers.length > MAX_NAMESERVERS) {
    errors.push(invalid(`${path}.nameservers`, nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`));
  }
  nameservers.forEach((address, i) => {
    append(errors, validateIp(address, `${path}.nameservers[${i}]`));
  });
  if (searches.length > MAX_SEARCHES) {
    errors.push(invalid(`${path}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`));
  }
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    const detail = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    errors.push(invalid(`${path}.searches`, searches, detail));
  }
  searches.forEach((search, i) => {
    if (search === '.') return;
    const name = search.endsWith('.') ? search.slice(0, -1) : search;
    append(errors, invalidAll(`${path}.searches[${i}]`, name, dns1123SubdomainWithUnderscore(name)));
  });
  options.forEach(({ name = '' }, i) => {
    if (name === '') errors.push(required(`${path}.options[${i}]`, 'must not be empty'));
  });
  return errors;
}

export function validateHostAliases(aliases: readonly HostAlias[] | undefined, path: string): FieldError[] {
  return (aliases ?? []).flatMap(({ ip = '', hostnames = [] }, i) => [
    ...validateIp(ip, `${path}[${i}].ip`),
    ...hostnames.flatMap((name, j) => invalidAll(`${path}[${i}].hostnames[${j}]`, name, dns1123Subdomain(name))),
  ]);
}
