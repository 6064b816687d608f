import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Configuration } from '../operations/configuration/configuration.js'

/** The service cannot start or continue. The message describes what to change. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
}

type Address = Awaited<ReturnType<typeof reserveAddress>>

/**
 * Returns the address to listen on. With port 0, reserves a free port until `release` is called, because another program could take it.
 * The port must be known before the app is built, because `baseUrl`, which has no trailing slash, is in responses. @throws ServiceError
 */
export async function reserveAddress({ host, port, publicUrl, installationName }: Configuration) {
  const reserved = port === 0 ? await reservePort(host) : { port, release: async () => undefined }
  const baseUrl = publicUrl ?? localUrl(host, reserved.port)
  return { host, baseUrl, installationName: installationName ?? nameOf(baseUrl), ...reserved }
}

/** Returns the host with its port and path, such as `pay.example.com/payments`. */
export function nameOf(baseUrl: string): string {
  const { host, pathname } = new URL(baseUrl)
  return `${host}${pathname}`.replace(/\/$/, '')
}

/** @throws ServiceError */
export async function listen(app: FastifyInstance, { host, port, release }: Address): Promise<void> {
  await release()
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw explained(error, host, port)
  }
}

function reservePort(host: string): Promise<{ readonly port: number; release(): Promise<void> }> {
  return new Promise((resolve, reject) => {
    const holder = createServer((socket) => socket.destroy())
    holder.once('error', (error) => reject(explained(error, host, 0)))
    holder.listen(0, host, () => {
      const { port } = holder.address() as { port: number }
      const release = () => new Promise<void>((released) => holder.close(() => released()))
      resolve({ port, release })
    })
  })
}

/** Returns the host for the URL. A wildcard address becomes the loopback address. */
/** Returns the URL under which this machine reaches a service that listens on a host. */
export function localUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function explained(error: unknown, host: string, port: number): unknown {
  const notLocal = `HOST ${host} is not an address of this machine`
  const problems: { readonly [code: string]: string } = {
    EADDRINUSE: `port ${port} is in use on ${host}: another program listens there; set PORT to a different one`,
    EACCES: `port ${port} on ${host} may not be used by this user; set PORT to a different one`,
    EADDRNOTAVAIL: notLocal,
    ENOTFOUND: notLocal,
  }
  const problem = problems[String((error as NodeJS.ErrnoException).code)]
  return problem === undefined ? error : new ServiceError(problem)
}
