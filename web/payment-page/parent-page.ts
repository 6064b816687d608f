import { data } from './page-data.js'

/** Notifies the page that frames this one of the deposit's status. The message contains only the ids and the status. */
export function notifyParent(status: string): void {
  if (window.parent === window) return
  const { trackingId, referenceId } = data
  for (const origin of parentOrigins()) {
    window.parent.postMessage({ source: 'transferd', trackingId, referenceId, status }, origin)
  }
}

/** Returns the parent's origin if the browser reveals it, otherwise all possible origins. Browsers deliver only to the matching one. */
function parentOrigins(): readonly string[] {
  const known = knownParent()
  if (known !== undefined && canFrame(known)) return [known]
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

function canFrame(origin: string): boolean {
  return data.framing.some((allowed) => allowed === origin || (allowed.endsWith(':*') && isSameHost(allowed, origin)))
}

function isSameHost(allowed: string, origin: string): boolean {
  const host = allowed.slice(0, -':*'.length)
  return origin === host || (origin.startsWith(`${host}:`) && /^\d+$/.test(origin.slice(host.length + 1)))
}
