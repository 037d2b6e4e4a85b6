import {
  dns1035Label,
  dns1123Subdomain,
  type FieldError,
  invalid,
  portNumber,
  repeatedAt,
  required,
} from '@gantry/objects';

/** How a webhook is reached: by URL, or as a service of the cluster. */
export interface WebhookTarget {
  readonly url?: string;
  readonly service?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly path?: string;
    readonly port?: number;
  };
}

const FORM = '; desired format: https://host[/path]';

/** Requires exactly one of URL and service, and checks it. */
export function validateAdmissionClient(client: WebhookTarget | undefined, path: string): FieldError[] {
  const { url, service } = client ?? {};
  if ((url === undefined) === (service === undefined)) {
    return [required(path, 'exactly one of url or service is required')];
  }
  if (url !== undefined) return validateWebhookUrl(url, `${path}.url`);
  // Kubernetes' admission swaps name and namespace here: a missing one is reported under the other's field.
  const { name, namespace, ...rest } = service ?? {};
  const swapped = {
    ...rest,
    ...(namespace === undefined ? {} : { name: namespace }),
    ...(name === undefined ? {} : { namespace: name }),
  };
  return validateWebhookService(swapped, `${path}.service`);
}

interface SplitUrl {
  readonly scheme: string;
  readonly user: string | undefined;
  readonly host: string;
  readonly query: string;
  readonly fragment: string;
}

/** The parts of a URL as Go parses it, or Go's error. */
function splitUrl(url: string): SplitUrl | string {
  const [beforeFragment = '', ...fragments] = url.split('#');
  if (/[\x00-\x1f\x7f]/.test(beforeFragment)) {
    return `parse ${JSON.stringify(beforeFragment)}: net/url: invalid control character in URL`;
  }
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):(.*)$/s.exec(beforeFragment);
  if (scheme === null && beforeFragment.startsWith(':')) {
    return `parse ${JSON.stringify(beforeFragment)}: missing protocol scheme`;
  }
  if (scheme === null && /^[^/?]*:/.test(beforeFragment)) {
    return `parse ${JSON.stringify(beforeFragment)}: first path segment in URL cannot contain colon`;
  }
  const rest = scheme?.[2] ?? beforeFragment;
  const question = rest.indexOf('?');
  const main = question < 0 ? rest : rest.slice(0, question);
  const query = question < 0 ? '' : rest.slice(question + 1);
  const badEscape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(main);
  if (badEscape !== null) {
    return `parse ${JSON.stringify(beforeFragment)}: invalid URL escape ${JSON.stringify(badEscape[0])}`;
  }
  const authority = main.startsWith('//') ? (main.slice(2).split('/')[0] ?? '') : '';
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  const colon = host.indexOf(':', host.lastIndexOf(']') + 1);
  const port = colon < 0 ? undefined : host.slice(colon + 1);
  if (port !== undefined && !/^\d*$/.test(port)) {
    return `parse ${JSON.stringify(beforeFragment)}: invalid port ${JSON.stringify(`:${port}`)} after host`;
  }
  const badHost = /[ "<>^`{|}\\]/.exec(host);
  if (badHost !== null) {
    return `parse ${JSON.stringify(beforeFragment)}: invalid character ${JSON.stringify(badHost[0])} in host name`;
  }
  return {
    scheme: (scheme?.[1] ?? '').toLowerCase(),
    user: at < 0 ? undefined : authority.slice(0, at),
    host,
    query,
    fragment: fragments.join('#'),
  };
}

/** Requires an HTTPS URL with a host, and without parts that would be dropped or leaked. */
export function validateWebhookUrl(url: string, path: string): FieldError[] {
  const parts = splitUrl(url);
  if (typeof parts === 'string') return [required(path, `url must be a valid URL: ${parts}${FORM}`)];
  const { scheme, user, host, query, fragment } = parts;
  const errors: FieldError[] = [];
  if (scheme !== 'https') errors.push(invalid(path, scheme, `'https' is the only allowed URL scheme${FORM}`));
  if (host === '') errors.push(invalid(path, host, `host must be specified${FORM}`));
  if (user !== undefined) errors.push(invalid(path, user, 'user information is not permitted in the URL'));
  if (fragment !== '') errors.push(invalid(path, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') errors.push(invalid(path, query, 'query parameters are not permitted in the URL'));
  return errors;
}

/** Checks that a service has a name, a namespace, a valid port, and a path of DNS names. */
export function validateWebhookService(service: NonNullable<WebhookTarget['service']>, path: string): FieldError[] {
  const { name = '', namespace = '', port = 0, path: urlPath } = service;
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(`${path}.name`));
  if (namespace === '') errors.push(required(`${path}.namespace`));
  const wrongPort = portNumber(port);
  if (wrongPort.length > 0) errors.push(invalid(`${path}.port`, port, `port is not valid: ${wrongPort.join(', ')}`));
  if (urlPath === undefined || urlPath === '' || urlPath === '/') return errors;
  const refuse = (detail: string) => errors.push(invalid(`${path}.path`, urlPath, detail));
  if (urlPath === '//') {
    refuse('segment[0] may not be empty');
    return errors;
  }
  if (!urlPath.startsWith('/')) refuse("must start with a '/'");
  // The first character is treated as the slash, whatever it is.
  const segments = urlPath.slice(1).replace(/\/$/, '').split('/');
  segments.forEach((segment, i) => {
    if (segment === '') refuse(`segment[${i}] may not be empty`);
    else for (const message of dns1123Subdomain(segment)) refuse(`segment[${i}]: ${message}`);
  });
  return errors;
}

/** Checks the review versions of a webhook: at least one must be ours (with 'known'), and none may be repeated. */
export function validateReviewVersions(
  versions: readonly string[] | null | undefined,
  accepted: readonly string[],
  known: 'known' | 'any',
  path: string,
): FieldError[] {
  if (versions === undefined || versions === null || versions.length === 0) {
    return [required(path, `must specify one of ${accepted.join(', ')}`)];
  }
  const errors: FieldError[] = [];
  const isRepeated = repeatedAt(versions);
  versions.forEach((version, i) => {
    if (isRepeated(i)) errors.push(invalid(`${path}[${i}]`, version, 'duplicate version'));
    else for (const message of dns1035Label(version)) errors.push(invalid(`${path}[${i}]`, version, message));
  });
  if (known === 'known' && !versions.some((version) => accepted.includes(version))) {
    errors.push(invalid(path, versions, `must include at least one of ${accepted.join(', ')}`));
  }
  return errors;
}
