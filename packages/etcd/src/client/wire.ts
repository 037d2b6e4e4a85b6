import { EtcdError } from '../etcd-error.ts';
import type {
  Compare,
  KeyValue,
  Operation,
  OperationResult,
  RangeRequest,
  Transaction,
  TransactionResult,
  WatchedEvent,
} from '../ports.ts';

/** The vendor's JSON form of etcd's messages: 64-bit numbers as strings, enums as strings, keys and values as Buffers. */
export interface WireKeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly create_revision: string;
  readonly mod_revision: string;
  readonly lease: string;
}

/** The part of every response that says from which revision it is. */
export interface WireHeader {
  readonly revision: string;
  readonly member_id: string;
}

/** The response to a range. */
export interface WireRangeResponse {
  readonly header: WireHeader;
  readonly kvs: readonly WireKeyValue[];
  readonly count: string;
}

/** The response to a transaction. */
export interface WireTxnResponse {
  readonly header: WireHeader;
  readonly succeeded: boolean;
  readonly responses: readonly WireResponseOp[];
}

interface WireResponseOp {
  readonly response_range?: WireRangeResponse;
  readonly response_put?: object;
  readonly response_delete_range?: { readonly deleted: string };
  readonly response_txn?: WireTxnResponse;
}

/** One message of a watch. */
export interface WireWatchResponse {
  readonly header: WireHeader;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compact_revision: string;
  readonly cancel_reason: string;
  readonly fragment: boolean;
  readonly events: readonly { readonly type: 'Put' | 'Delete'; readonly kv: WireKeyValue }[];
}

/** A range in the vendor's form. */
export function toWireRange(request: RangeRequest): object {
  return {
    key: Buffer.from(request.key),
    ...(request.rangeEnd === undefined ? {} : { range_end: Buffer.from(request.rangeEnd) }),
    revision: request.revision,
    limit: request.limit,
    ...(request.fields === 'keys' ? { keys_only: true } : {}),
    ...(request.fields === 'count' ? { count_only: true } : {}),
  };
}

/** A transaction in the vendor's form, with those nested in it. */
export function toWireTransaction(transaction: Transaction): object {
  return {
    compare: transaction.compare.map(toWireCompare),
    success: transaction.success.map(toWireOperation),
    failure: transaction.failure.map(toWireOperation),
  };
}

function toWireCompare(compare: Compare): object {
  const key = Buffer.from(compare.key);
  switch (compare.target) {
    case 'create-revision':
      return { key, result: 'Equal', target: 'Create', create_revision: compare.equals };
    case 'mod-revision':
      return { key, result: 'Equal', target: 'Mod', mod_revision: compare.equals };
    case 'value':
      return { key, result: 'Equal', target: 'Value', value: compare.equals };
    case 'exists':
      return { key, result: 'Greater', target: 'Create', create_revision: 0 };
  }
}

function toWireOperation(operation: Operation): object {
  switch (operation.kind) {
    case 'put': {
      const lease = operation.lease === undefined ? {} : { lease: operation.lease };
      return { request_put: { key: Buffer.from(operation.key), value: operation.value, ...lease } };
    }
    case 'delete':
      return { request_delete_range: { key: Buffer.from(operation.key) } };
    case 'range':
      return { request_range: toWireRange(operation) };
    case 'transaction':
      return { request_txn: toWireTransaction(operation) };
  }
}

/** A key and its value from the vendor's form. */
export function fromWireKeyValue(kv: WireKeyValue): KeyValue {
  return {
    key: kv.key.toString(),
    value: kv.value,
    createRevision: Number(kv.create_revision),
    modRevision: Number(kv.mod_revision),
    lease: kv.lease,
  };
}

/** The result of a transaction from the vendor's form. */
export function fromWireTransaction(response: WireTxnResponse): TransactionResult {
  return {
    revision: Number(response.header.revision),
    succeeded: response.succeeded,
    results: response.responses.map(fromWireOperation),
  };
}

function fromWireOperation(operation: WireResponseOp): OperationResult {
  if (operation.response_txn != null) {
    const { succeeded, responses } = operation.response_txn;
    return { kind: 'transaction', succeeded, results: responses.map(fromWireOperation) };
  }
  if (operation.response_range != null)
    return { kind: 'range', kvs: operation.response_range.kvs.map(fromWireKeyValue) };
  if (operation.response_delete_range != null) {
    return { kind: 'delete', deleted: Number(operation.response_delete_range.deleted) };
  }
  if (operation.response_put != null) return { kind: 'put' };
  throw new EtcdError('outcome-unknown', 'a response of a kind that was not requested');
}

/** One change from the vendor's form. */
export function fromWireEvent(event: WireWatchResponse['events'][number]): WatchedEvent {
  if (event.type === 'Put') return { kind: 'put', kv: fromWireKeyValue(event.kv) };
  return { kind: 'delete', key: event.kv.key.toString(), modRevision: Number(event.kv.mod_revision) };
}
