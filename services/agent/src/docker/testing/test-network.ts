import { randomInt } from 'node:crypto';
import type Docker from 'dockerode';

/** The first of the blocks for tests: 10.212.0.0/24 to 10.215.255.0/24. */
const FIRST_BLOCK = 212;
const SUBNETS = 4 * 256;

export interface TestNetworkOptions {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Options of Docker's bridge driver, such as its MTU. */
  readonly driver?: Readonly<Record<string, string>>;
  /** The engine assigns addresses only from the first part of the subnet. This is the number of address bits of that part. */
  readonly engineBits?: number;
  /** The number (0 to 1023) of the subnet that is tried first. Random by default. */
  readonly first?: number;
}

/** A network of the engine with a subnet that no other network has. */
export interface TestNetwork {
  readonly network: Docker.Network;
  /** For example `10.213.7.0/24`. */
  readonly subnet: string;
  /** Returns the address of the subnet with this last number (0 to 255). The gateway has 1. */
  address(last: number): string;
}

/**
 * Creates a network with a subnet of 256 addresses. The engine decides which subnets are free. If two tests try the same subnet, the
 * later one continues with the next. Throws any other error of the engine, and also throws if all subnets are taken.
 */
export async function createTestNetwork(docker: Docker, options: TestNetworkOptions): Promise<TestNetwork> {
  const { name, labels = {}, driver = {}, engineBits, first = randomInt(SUBNETS) } = options;
  for (let tried = 1; ; tried++) {
    const index = (first + tried - 1) % SUBNETS;
    const prefix = `10.${FIRST_BLOCK + Math.floor(index / 256)}.${index % 256}`;
    const subnet = `${prefix}.0/24`;
    const range = engineBits === undefined ? {} : { IPRange: `${prefix}.0/${engineBits}` };
    try {
      const network = await docker.createNetwork({
        Name: name,
        Labels: { ...labels },
        IPAM: { Config: [{ Subnet: subnet, ...range }] },
        Options: { ...driver },
      });
      return { network, subnet, address: (last) => `${prefix}.${last}` };
    } catch (error) {
      if (!isTaken(error) || tried === SUBNETS) throw error;
    }
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && error.message.includes('Pool overlaps');
}
