#version 330 core
// The two shaders compute for every pixel, as the painter does, where its ray meets the face's plane.
//
// A block is one instance of a cube with only the three sides that may face the eye: corner k belongs to the side across
// axis k // 4 (x, y, z). The ground is one more instance, with only the side across y. The rasteriser proposes pixels of
// sides that are a little too large. The pixel's ray decides whether it sees the side, and its fill or its border, so
// subpixel snapping moves no edge. With p, q, w linear in row and column, the ray meets the plane at u = p / w,
// v = q / w, at depth |distance| / w.
//
// Tiles (one world each) are stacked upwards in one framebuffer, each with row 0 of its picture lowest. A tile's clip
// space is shifted to its place, and two clip distances cut off what would reach into its neighbours.

layout(location = 0) in uint place;    // tile * 1089 + cell, cell in the order of a grid [9, 11, 11]
uniform isampler2D grids;              // block ids, one texel a cell, one row a tile
uniform sampler2D cameras;             // eye; sine and cosine of yaw, of pitch: a row of two texels a tile
uniform usampler2D palette;            // packed colours from index 1 on, in pairs of fill and border
uniform ivec3 counts;                  // blocks, tiles, block colours in the palette
uniform vec4 lens;                     // tangent of half the field of view, near, far, half the ground's width
uniform vec2 view;                     // height and width of a tile

flat out vec3 line_p;                  // p, q, w at pixel (0, 0), their change per row, per column
flat out vec3 line_q;
flat out vec3 line_w;
flat out uvec4 tint;                   // fill and border within 5.5 cells of the middle; the same beyond
flat out vec4 face;                    // the tile's lowest row, |distance|, half width of the fill, half width

const float TIE = 1e-4;                // pixels: a ray lies this much right of its pixel's centre, as the painter's
const float GROUND_Y = -1.5;
const vec4 NOWHERE = vec4(2.0, 2.0, 2.0, 1.0);

float pick(vec3 vector, int axis) { return axis == 0 ? vector.x : axis == 1 ? vector.y : vector.z; }

bool covered(ivec3 cell, ivec3 towards, ivec2 at, vec3 relative, vec2 tangents) {
    // A neighbour hides a side, unless the eye is in the neighbour or the near plane cuts it open.
    ivec3 next = cell + towards;
    if (any(lessThan(next, ivec3(0))) || any(greaterThanEqual(next, ivec3(11, 9, 11)))) return false;
    if (texelFetch(grids, at + ivec2(11 * towards.x + 121 * towards.y + towards.z, 0), 0).x == 0) return false;
    vec3 gap = abs(relative + vec3(towards));
    float reach = 0.5 + lens.y * sqrt(1.0 + dot(tangents, tangents));
    return max(max(gap.x, gap.y), gap.z) > reach;
}

void main() {
    bool ground = gl_InstanceID >= counts.x;
    int tile = ground ? gl_InstanceID - counts.x : int(place / 1089u);
    vec3 eye = texelFetch(cameras, ivec2(0, tile), 0).xyz;
    vec4 turn = texelFetch(cameras, ivec2(1, tile), 0);
    vec3 right = vec3(turn.y, 0.0, turn.x);
    vec3 up = vec3(-turn.x * turn.z, turn.w, turn.y * turn.z);
    vec3 forward = vec3(turn.x * turn.w, turn.z, -turn.y * turn.w);
    vec2 tangents = vec2(lens.x * view.y / view.x, lens.x);

    vec3 ray = forward + ((1.0 + 2.0 * TIE) / view.y - 1.0) * tangents.x * right
             + (1.0 - 1.0 / view.x) * tangents.y * up;
    vec3 ray_per_row = -2.0 / view.x * tangents.y * up;
    vec3 ray_per_column = 2.0 / view.y * tangents.x * right;

    int axis = gl_VertexID >> 2;
    int u_axis = (axis + 1) % 3, v_axis = (axis + 2) % 3;
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1 & 1) - 0.5;
    vec3 relative;                     // from the eye: the block's centre, or the point of the ground at (0, 0)
    float side, half_width;
    bool shown;
    ivec2 pairs;                       // in the palette, within 5.5 cells of the middle and beyond
    if (ground) {
        relative = vec3(0.0, GROUND_Y, 0.0) - eye;
        side = 1.0;
        half_width = lens.w;
        face.z = 0.5 - 1.0 / 32.0;
        pairs = ivec2(0, 1);
        shown = axis == 1 && relative.y < 0.0;
    } else {
        int number = int(place) - 1089 * tile;
        ivec3 cell = ivec3(number / 11 % 11, number / 121, number % 11);
        relative = vec3(cell - ivec3(5, 1, 5)) - eye;
        side = pick(relative, axis) > 0.0 ? -1.0 : 1.0;
        half_width = 0.5;
        face.z = 0.5 - 1.0 / 16.0;
        int color = texelFetch(grids, ivec2(number, tile), 0).x;
        int shade = axis == 0 ? 2 : axis == 2 ? 1 : side > 0.0 ? 0 : 3;
        pairs = ivec2(4 * color - 2 + shade);
        ivec3 towards = ivec3(0);
        towards[axis] = int(side);
        shown = color > 0 && color <= counts.z && abs(pick(relative, axis)) > 0.5
             && !covered(cell, towards, ivec2(number, tile), relative, tangents);
    }
    if (!shown) pairs = ivec2(0);
    tint = uvec4(texelFetch(palette, ivec2(pairs.x, 0), 0).xy, texelFetch(palette, ivec2(pairs.y, 0), 0).xy);
    float distance = pick(relative, axis) + (ground ? 0.0 : 0.5 * side);
    vec3 line = vec3(pick(ray, axis), pick(ray_per_row, axis), pick(ray_per_column, axis));
    line_w = -side * line;
    line_p = abs(distance) * vec3(pick(ray, u_axis), pick(ray_per_row, u_axis), pick(ray_per_column, u_axis))
           - pick(relative, u_axis) * line_w;
    line_q = abs(distance) * vec3(pick(ray, v_axis), pick(ray_per_row, v_axis), pick(ray_per_column, v_axis))
           - pick(relative, v_axis) * line_w;
    face.x = float(tile) * view.x + 0.5;
    face.y = abs(distance);
    face.w = half_width;

    // Larger by a twentieth of a pixel at least, also when seen at a grazing angle: more than any snapping.
    float away = ground ? lens.z : length(relative);
    float spare = 0.005 + 0.1 * lens.x / view.x * away / max(abs(distance) / away, 0.02);
    vec3 at = relative;
    at[axis] = distance;
    at[u_axis] += 2.0 * (half_width + spare) * corner.x;
    at[v_axis] += 2.0 * (half_width + spare) * corner.y;
    float depth = dot(forward, at), near = 0.9 * lens.y, far = 1.1 * lens.z;
    vec4 point = vec4(dot(right, at) / tangents.x, -dot(up, at) / tangents.y,
                      (depth * (far + near) - 2.0 * far * near) / (far - near), depth);
    if (!shown) point = NOWHERE;
    gl_ClipDistance[0] = point.w - point.y;
    gl_ClipDistance[1] = point.w + point.y;
    float tiles = float(counts.y);
    point.y = (point.y + (2.0 * float(tile) + 1.0 - tiles) * point.w) / tiles;
    gl_Position = point;
}
