import type { App } from '../app.js'
import { failures, RequestError } from '../errors.js'

/** 404, or 405 with `Allow` where only the method is wrong. Both end in the error handler, which limits them. */
export function registerUnknownRoutes(app: App): void {
  const routes: { readonly method: string; readonly pattern: RegExp }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    const pattern = new RegExp(
      `^${url
        .replaceAll(/[.+()]/g, '\\$&')
        .replaceAll(/:\w+/g, '[^/]+')
        .replace('*', '.*')}$`,
    )
    for (const each of [method].flat()) routes.push({ method: each, pattern })
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0]!
    const methods = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
    if (methods.size === 0 || methods.has(request.method)) throw new RequestError(failures.unknownRoute)
    reply.header('allow', [...methods].sort().join(', '))
    throw new RequestError(failures.methodNotAllowed)
  })
}
