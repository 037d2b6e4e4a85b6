import type { Service } from '@gantry/objects';
import { addressOf } from './plan.ts';

/**
 * Addresses that this term has written, until the cache shows them: two Services that want one at the same moment never get the same. An
 * earlier leader's are in the cache when a term begins, and its later writes fail.
 */
export class GivenAddresses {
  /** By the uid of the Service. */
  readonly #given = new Map<string, string>();

  clear(): void {
    this.#given.clear();
  }

  note(service: Service): void {
    const { uid = '' } = service.metadata;
    const address = addressOf(service);
    if (address === '') this.#given.delete(uid);
    else this.#given.set(uid, address);
  }

  /** The addresses of all Services but one, by what the cache shows and what it does not yet. */
  others(service: Service, all: readonly Service[]): ReadonlySet<string> {
    const shown = new Map(all.map((one) => [one.metadata.uid ?? '', addressOf(one)]));
    for (const [uid, address] of this.#given)
      if (!shown.has(uid) || shown.get(uid) === address) this.#given.delete(uid);
    const known = new Map([...shown, ...this.#given]);
    known.delete(service.metadata.uid ?? '');
    return new Set([...known.values()].filter((address) => address !== ''));
  }
}
