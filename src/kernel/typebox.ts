/**
 * TypeBox, which the build makes one file of (`scripts/bundle.js`). As 270 files it cost every test that reads an event 0.15 s of CPU; the
 * program has it in its bundle. Types may come from the package itself.
 */
export { Type } from '@sinclair/typebox'
export { TypeCompiler } from '@sinclair/typebox/compiler'
export { TransformDecodeError, Value } from '@sinclair/typebox/value'
