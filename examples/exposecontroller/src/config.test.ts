import { describe, expect, it } from 'vitest';
import { ConfigError, hostOf, parseConfig } from './config.ts';

describe('config.yml', () => {
  it('has defaults', () => {
    const config = parseConfig('domain: example.com');
    expect(config).toMatchObject({ exposer: '', http: false, 'watch-current-namespace': true, services: [] });
    expect(hostOf(config, 'web', 'shop', 'example.com')).toBe('web.shop.example.com');
  });

  it('reads what the original reads', () => {
    const text =
      'domain: a.b\nexposer: Ingress\ntls-acme: "true"\nurltemplate: "{{.Service}}-{{ .Namespace }}.{{.Domain}}"\nservices: [web]';
    const config = parseConfig(text);
    expect(config).toMatchObject({ 'tls-acme': true, services: ['web'] });
    expect(hostOf(config, 'web', 'shop', 'a.b')).toBe('web-shop.a.b');
  });

  it.each([
    ['', 'domain'],
    ['domain: "a b"', 'domain: must be a DNS name'],
    ['domain: a.b\nexposer: NodePort', 'exposer: only Ingress is supported'],
    ['domain: a.b\nurltemplate: "{{.Release}}"', 'urltemplate: knows only .Service, .Namespace and .Domain'],
    ['domain: a.b\nnode-ip: 1.2.3.4', 'node-ip'],
    ['domain: a.b\ntls-acme: perhaps', 'tls-acme'],
    ['domain: [', 'config.yml: '],
  ])('%j is refused, and the key is named', (text, message) => {
    expect(() => parseConfig(text)).toThrow(ConfigError);
    expect(() => parseConfig(text)).toThrow(message);
  });
});
