import { data } from './page-data.js'

/** Tells the page that frames this one what became of the deposit: the ids and the status, and nothing else. */
export function tellParent(status: string): void {
  if (window.parent === window) return
  const { trackingId, referenceId } = data
  for (const origin of parentOrigins()) {
    window.parent.postMessage({ source: 'transferd', trackingId, referenceId, status }, origin)
  }
}

/** The parent's origin where the browser tells it; otherwise all that may be it, of which a browser delivers to the one that is. */
function parentOrigins(): readonly string[] {
  const known = knownParent()
  if (known !== undefined && mayFrame(known)) return [known]
  return data.framing.filter((origin) => !origin.endsWith(':*'))
}

function knownParent(): string | undefined {
  const { ancestorOrigins } = location as { readonly ancestorOrigins?: DOMStringList }
  if (ancestorOrigins?.[0]) return ancestorOrigins[0]
  try {
    return new URL(document.referrer).origin
  } catch {
    return undefined
  }
}

function mayFrame(origin: string): boolean {
  return data.framing.some((allowed) => allowed === origin || (allowed.endsWith(':*') && sameButPort(allowed, origin)))
}

function sameButPort(allowed: string, origin: string): boolean {
  const host = allowed.slice(0, -':*'.length)
  return origin === host || (origin.startsWith(`${host}:`) && /^\d+$/.test(origin.slice(host.length + 1)))
}
