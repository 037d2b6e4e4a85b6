const DEFAULT_HOST = 'docker.io';

/** An image's registry and the rest of its name: `docker.io` and `library/nginx:1.27` for `nginx:1.27`. */
function splitHost(image: string): { readonly host: string; readonly rest: string } {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]/.test(first) || first === 'localhost';
  const host = !isHost || first === 'index.docker.io' ? DEFAULT_HOST : first;
  const rest = isHost ? image.slice(slash + 1) : image;
  return { host, rest: host === DEFAULT_HOST && !rest.includes('/') ? `library/${rest}` : rest };
}

/** The full name of an image's repository, without tag and digest: `docker.io/library/nginx` for `nginx:1.27`. */
export function repositoryOf(image: string): string {
  const { host, rest } = splitHost(image.replace(/@.*$/, '').replace(/:[^/:]*$/, ''));
  return `${host}/${rest}`;
}

/** The tag of an image's name; `latest` without one. */
export function tagOf(reference: string): string {
  return /:([^/:]*)$/.exec(reference.replace(/@.*$/, ''))?.[1] ?? 'latest';
}

const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const HOST = `(?:${LABEL}(?:\\.${LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const ALGORITHM = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*';
const REFERENCE = new RegExp(
  `^${HOST}/(${COMPONENT}(?:/${COMPONENT})*)(?::${TAG})?(?:@(${ALGORITHM}):([0-9a-fA-F]{32,}))?$`,
);
/** The form of an image id. */
const ID = /^[0-9a-f]{64}$/;
/** In characters. */
const MAX_REPOSITORY = 255;
/** In characters; more than any valid reference has. Matching takes at most quadratic time. */
const MAX_REFERENCE = 1024;
/** Hexadecimal digits of a digest by its algorithm. */
const DIGITS: ReadonlyMap<string, number> = new Map([
  ['sha256', 64],
  ['sha384', 96],
  ['sha512', 128],
]);

/**
 * Why `image` is not an image reference, in the kubelet's words (`github.com/distribution/reference` 0.6); undefined for a valid one. An id
 * is invalid: it could name an image of another pod. Unlike in the library, a first part without dot and colon that has capitals is no
 * host, because Docker Engine takes it as a part of the repository's name.
 */
export function imageReferenceFault(image: string): string | undefined {
  if (ID.test(image)) return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  if (image.length > MAX_REFERENCE) return 'invalid reference format';
  const { host, rest } = splitHost(image);
  const [repository = ''] = rest.split(':');
  if (repository !== repository.toLowerCase()) {
    return `invalid reference format: repository name (${repository}) must be lowercase`;
  }
  const parts = REFERENCE.exec(`${host}/${rest}`);
  if (parts === null) return 'invalid reference format';
  const [, path = '', algorithm, digits = ''] = parts;
  if (path.length > MAX_REPOSITORY) return 'repository name must not be more than 255 characters';
  if (algorithm === undefined) return undefined;
  const wanted = DIGITS.get(algorithm);
  if (wanted === undefined) return 'unsupported digest algorithm';
  if (digits.length !== wanted) return 'invalid checksum digest length';
  return digits === digits.toLowerCase() ? undefined : 'invalid checksum digest format';
}
