/**
 * TypeBox, which the build makes one file of (`bundle` in package.json). As 270 files it took a third of the time of a command and of
 * every test that reads an event. Types may come from the package itself.
 */
export { Type } from '@sinclair/typebox'
export { TypeCompiler } from '@sinclair/typebox/compiler'
export { TransformDecodeError, Value } from '@sinclair/typebox/value'
