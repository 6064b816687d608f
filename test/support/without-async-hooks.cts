const hooks: typeof import('node:async_hooks') = require('node:async_hooks')
const { syncBuiltinESMExports }: typeof import('node:module') = require('node:module')

/**
 * Loaded before tap, which follows every promise with a hook to find the test of an uncaught error. The hook costs the
 * tests a seventh of their processor time. Without it, and with one id for all promises, tap assigns the error to the
 * innermost test that is running.
 */
hooks.createHook = () => ({
  enable() {
    return this
  },
  disable() {
    return this
  },
})
hooks.executionAsyncId = () => 1
syncBuiltinESMExports()
