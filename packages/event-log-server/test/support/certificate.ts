import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** Creates a certificate for localhost that is valid for two days. Returns `undefined` if openssl is not installed. */
export function makeCertificate(directory: string): Certificate | undefined {
  const key = join(directory, 'server.key')
  const cert = join(directory, 'server.crt')
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  try {
    execFileSync('openssl', [...request, '-addext', names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key, cert }
  } catch {
    return undefined
  }
}
