# transferd as one container: `docker build -t transferd .`, then
#   docker run --memory 1g --pids-limit 256 -p 127.0.0.1:3000:3000 -v transferd:/data transferd
# keeps log, read models and master key in the volume. docker-compose.yml runs it on EventStoreDB and MongoDB.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY packages/event-log/package.json packages/event-log/
COPY packages/event-log-server/package.json packages/event-log-server/
COPY packages/transparency-log/package.json packages/transparency-log/
# The sources are not there yet, so `prepare` must not run; better-sqlite3 is the only package with something to install. Its published
# binary and no other: without a compiler here the build fails where that cannot be had, and one that is compiled on this Node aborts
# (docs/decisions/0001-dependencies.md).
RUN npm ci --no-audit --no-fund --ignore-scripts && npm rebuild better-sqlite3
COPY . .
# What the npm packages hold is what the image holds.
RUN npm run build \
 && npm pack --ignore-scripts --pack-destination /tmp --workspaces --include-workspace-root \
 && mkdir -p /app/packages/event-log /app/packages/event-log-server /app/packages/transparency-log \
 && tar -xzf /tmp/transferd-0*.tgz --strip-components=1 -C /app \
 && tar -xzf /tmp/transferd-event-log-0*.tgz --strip-components=1 -C /app/packages/event-log \
 && tar -xzf /tmp/transferd-event-log-server-0*.tgz --strip-components=1 -C /app/packages/event-log-server \
 && tar -xzf /tmp/transferd-transparency-log-0*.tgz --strip-components=1 -C /app/packages/transparency-log \
 && npm prune --omit=dev --ignore-scripts \
 && mv node_modules /app/

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    SANDBOX=off
COPY --from=build /app /app
RUN ln -s /app/dist/bin/transferd.js /usr/local/bin/transferd \
 && install --directory --owner=node --group=node --mode=0700 /data
USER node
# `./data`, where log, read models and master key are unless told otherwise, is /data from here. They are no variables of the image:
# with EVENT_STORE_URL_FILE or READ_MODEL_URL_FILE, the place would be named twice.
WORKDIR /
VOLUME /data
EXPOSE 3000
# 503 while the log is away or the background thread is being started again. Not `fetch`, which refuses some ports.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "require('node:http').get({ host: '127.0.0.1', port: process.env.PORT, path: '/health/ready' }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# node is process 1 and handles SIGTERM itself: what was begun is finished.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/dist/bin/transferd.js"]
CMD ["serve"]
