/** The actor that registers the sandbox's merchants and creates its users. No other code uses it. */
export const sandboxActor = 'system:sandbox'
