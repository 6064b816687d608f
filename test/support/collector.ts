import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Teardown {
  teardown(work: () => unknown): unknown
}

interface KeyValue {
  readonly key: string
  readonly value: { readonly [kind: string]: unknown }
}

export interface CollectedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly attributes: { readonly [name: string]: unknown }
  readonly failed: boolean
}

interface Collector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** The attributes of all resources with their values. */
  readonly resources: readonly { readonly [name: string]: unknown }[]
  /** The received data, unchanged. */
  readonly text: string
}

/** Receives traces by OTLP/HTTP as JSON, only at `/v1/traces`. */
export async function startCollector(t: Teardown): Promise<Collector> {
  const collected = { spans: [] as CollectedSpan[], resources: [] as Collector['resources'][number][], text: '' }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      if (request.url !== '/v1/traces') return response.writeHead(404).end()
      collected.text += body
      for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
        collected.resources.push(valuesOf(resource.attributes))
        for (const { spans } of scopeSpans) collected.spans.push(...spans.map(spanOf))
      }
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  return Object.assign(collected, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

function spanOf(span: {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: readonly KeyValue[]
  readonly status?: { readonly code?: number }
}): CollectedSpan {
  const { name, traceId, spanId, parentSpanId, attributes, status } = span
  return { name, traceId, spanId, parentSpanId, attributes: valuesOf(attributes), failed: status?.code === 2 }
}

function valuesOf(attributes: readonly KeyValue[]): { readonly [name: string]: unknown } {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
