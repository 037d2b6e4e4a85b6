import { NodeRanges } from '../controllers/nodeipam/node-ranges.ts';

/** The node ranges of a cluster with the default settings, which has room for 15 hosts. */
export function createNodeRanges(): NodeRanges {
  const reserved = ['10.128.240.0/24', '10.96.0.0/16'];
  return new NodeRanges({ clusterCidr: '10.128.0.0/16', podCidr: '10.128.0.0/20', reserved });
}
